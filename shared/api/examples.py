"""One example of everything that is sent and answered, made of the models themselves, so that none can be untrue."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel

from shared.api import asked, models, numbers
from shared.api.problems import ErrorBody, Problem, ProblemField

REQUEST_ID = "5f2b7c9e8a1d4c3fb6e0a9d8c7b6a5f4"
_BEGAN = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)

#: What an error says, by its code.
SENTENCES: Mapping[str, str] = {
    "invalid_json": "The body is not valid JSON in UTF-8.",
    "not_found": "There is no job 7.",
    "conflict": "Job 2 is cancelled: only a queued job can be cancelled.",
    "payload_too_large": "The body is larger than 256 KiB.",
    "unsupported_media_type": "Send the body as Content-Type: application/json.",
    "validation_error": "The request has fields that cannot be accepted.",
    "idempotency_key_reused": "This Idempotency-Key was used for another request.",
    "rate_limited": "Customer C-0022 has sent 30 tickets within a minute.",
    "queue_full": "500 jobs are waiting already.",
    "database_unavailable": "The database cannot be reached at the moment.",
    "internal_error": "Something went wrong on our side.",
}


def error(code: str) -> ErrorBody:
    """The body of the error with that code."""
    fields = [ProblemField(field="limit", problem="not a whole number")] if code == "validation_error" else None
    return ErrorBody(error=Problem(code=code, message=SENTENCES[code], request_id=REQUEST_ID, fields=fields))


@functools.cache
def examples() -> Mapping[type[BaseModel], BaseModel]:
    """By model, of those that are a body."""
    return {type(each): each for each in (*_asked(), *_shown())}


def _asked() -> tuple[BaseModel, ...]:
    return (
        asked.NewTicket(customer_id="C-0022", subject="Charged twice", body="Two payments for one order."),
        asked.NewJob(task="Generate weekly support report", workspace_id="team_42", require_approval=True),
        asked.Decision(decided_by="mei", comment="Numbers checked."),
        asked.Discard(discarded_by="mei"),
        asked.Nothing(),
        asked.Redrive(error_code="provider_timeout", workspace_id="team_42", dry_run=True),
        asked.CustomerBody(name="Ada Archer", workspace_id="team_42"),
    )


def _shown() -> tuple[BaseModel, ...]:
    job, ticket = _job(), _ticket()
    listed = models.Job.model_validate(job.model_dump())
    accepted = {"job_id": 1, "state": "queued", "status_url": "/v1/jobs/1", "queued_ahead": 4}
    like = models.SimilarTicket(
        ticket_id="T-500000", subject="Paid two times", team="billing", created_at=_BEGAN, similarity=0.87
    )
    return (
        models.Accepted.model_validate(accepted | {"estimated_wait_seconds": 3.2, "ticket_id": "T-500001"}),
        models.AcceptedJob.model_validate(accepted | {"estimated_wait_seconds": 3.2}),
        models.Redriven(retried=0, remaining=214),
        models.Customer(customer_id="C-0022", name="Ada Archer", workspace_id="team_42"),
        ticket,
        models.TicketPage(items=[ticket], next="T-500001"),
        models.SimilarTickets(items=[like]),
        job,
        models.JobPage(items=[listed], next=None),
        _queue(),
        numbers.Ready(ready=True, checks={"database": "ok", "queue": "ok", "provider": "ok"}),
        numbers.Live(),
    )


def _ticket() -> models.Ticket:
    return models.Ticket(
        ticket_id="T-500001",
        customer_id="C-0022",
        workspace_id="team_42",
        subject="Charged twice",
        body="Two payments for one order.",
        channel="web_form",
        created_at=_BEGAN,
        job_id=1,
        ai_state="succeeded",
        team="billing",
        priority=1,
        draft_reply="Thank you for your message. We look into both payments.",
    )


def _job() -> models.JobDetail:
    names = ("classify", "draft_reply", "embed")
    return models.JobDetail(
        job_id=1,
        kind="ticket",
        ticket_id="T-500001",
        workspace_id="team_42",
        actor="customer:C-0022",
        state="succeeded",
        attempts=1,
        max_attempts=5,
        progress=100,
        created_at=_BEGAN,
        started_at=_at(1),
        finished_at=_at(4),
        run_after=_BEGAN,
        cancel_requested=False,
        last_error=None,
        discarded_by=None,
        discarded_at=None,
        result={"team": "billing", "priority": 1, "draft_reply": "…", "embedding_version": "embed-small-384-v1"},
        steps=[
            models.Step(name=name, state="succeeded", started_at=_at(second), finished_at=_at(second + 1))
            for second, name in enumerate(names, 1)
        ],
        history=[models.PastRun(run=1, attempt=1, started_at=_at(1), ended_at=_at(4), outcome="succeeded", error=None)],
        approval=None,
        artifacts=[],
        webhook=None,
    )


def _queue() -> numbers.Queue:
    return numbers.Queue(
        queued=41,
        ready=41,
        running=4,
        waiting_for_approval=1,
        dead_letter=3,
        failed=7,
        finished_last_minute=48,
        oldest_queued_seconds=22.5,
        outbox_pending=2,
        outbox_oldest_seconds=0.1,
        provider=numbers.ProviderState(
            chat_rpm=100,
            calls_available=3,
            paused_until=None,
            reason=None,
            breakers={
                "chat": numbers.BreakerState(state="closed", retry_at=None),
                "embeddings": numbers.BreakerState(state="closed", retry_at=None),
            },
        ),
        kinds={"ticket": numbers.KindNumbers(queued=41, ready=41, running=4, oldest_queued_seconds=22.5)},
    )


def _at(seconds: float) -> datetime:
    return _BEGAN + timedelta(seconds=seconds)
