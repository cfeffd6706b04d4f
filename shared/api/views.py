"""Rows as callers see them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shared.api.models import Job, JobDetail, SimilarTicket, Step, Ticket
from shared.artifacts import address
from shared.jobs.reading import JobRow, JobWay
from shared.kinds.kind import Kind
from shared.names import ticket_name
from shared.similar import SimilarRow
from shared.tickets import TicketRow


def ticket(row: TicketRow) -> Ticket:
    return Ticket.model_validate(asdict(row) | {"ticket_id": ticket_name(row.ticket_id)})


def similar(row: SimilarRow) -> SimilarTicket:
    return SimilarTicket.model_validate(asdict(row) | {"ticket_id": ticket_name(row.ticket_id)})


def job(row: JobRow) -> Job:
    return Job.model_validate(_job_fields(row))


def job_detail(row: JobWay, kind: Kind | None) -> JobDetail:
    """A job with all steps of its kind: those that no run has begun are pending."""
    plan = kind.steps({}, wants_approval=row.wants_approval) if kind else ()
    planned = {s.name: {"name": s.name, "state": "pending", "position": at} for at, s in enumerate(plan)}
    steps = planned | {step["name"]: step for step in row.steps}
    more = {
        "steps": [_step(step, row.state) for step in sorted(steps.values(), key=lambda step: step["position"])],
        "artifacts": [file | {"url": address(row.job_id, file["name"], file["token"])} for file in row.artifacts],
        "webhook": row.webhook and row.webhook | {"state": _WEBHOOK.get(row.webhook["state"], "pending")},
    }
    return JobDetail.model_validate(_job_fields(row) | more)


_WEBHOOK = {"succeeded": "delivered", "failed": "dead_letter", "dead_letter": "dead_letter", "cancelled": "dead_letter"}


def in_words(state: str) -> str:
    """A state in the middle of a sentence: "Job 2 is … ."."""
    return "a dead letter" if state == "dead_letter" else state.replace("_", " ")


def _step(step: Mapping[str, Any], job_state: str) -> Step:
    """A step that no run works at now waits for the next run, or failed with the job."""
    if step["state"] == "running" and job_state != "running":
        step = {**step, "state": "failed" if job_state in ("failed", "dead_letter") else "pending"}
    return Step.model_validate(step)


def _job_fields(row: JobRow) -> dict[str, Any]:
    return asdict(row) | {"ticket_id": ticket_name(row.ticket_id)}
