"""Intake: a checked request becomes a job and an outbox row (a ticket too), at once, with no call to anybody else."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from opentelemetry.trace import Span, SpanKind
from pydantic import BaseModel, ValidationError

from shared import forecast, idempotency
from shared.api.asked import NewJob, NewTicket
from shared.api.models import Accepted, AcceptedJob
from shared.api.problems import problems
from shared.db import Connection, Database
from shared.errors import AppError, FieldProblem, InvalidInput, NotFound, QueueFull, RateLimited
from shared.idempotency import Key, SingleFlight
from shared.jobs import submit
from shared.jobs.submit import Submission
from shared.kinds.kind import Kind, Plan
from shared.log import logger
from shared.names import ticket_name
from shared.provider.lane import Limits
from shared.signals import SILENT, Signals, remote, traceparent_of
from shared.timing import timed
from shared.webhooks.addresses import UnusableUrl, check_url

log = logger("intake")

A = TypeVar("A", bound=BaseModel)
Submit = Callable[[Connection], Awaitable[A]]


@dataclass(frozen=True)
class Rules:
    """What intake allows; 0 = no limit. `key_ttl_s`: how long an Idempotency-Key lives, in seconds."""

    max_attempts: int
    queue_max: int
    rate_limit_per_minute: int
    key_ttl_s: float
    allow_private_webhooks: bool
    lane: Limits


@dataclass(frozen=True)
class Asked:
    """Who asked, for the logs and the trace; `traceparent` is the caller's, `host_traceparent` the host's own span."""

    request_id: str
    traceparent: str | None = None
    host_traceparent: str | None = None


@dataclass(frozen=True)
class Intake:
    """What accepting needs; `ticket_kind` is the kind of job that a ticket makes."""

    db: Database
    ticket_kind: Kind
    kinds: Mapping[str, Kind]
    rules: Rules
    signals: Signals = SILENT
    flights: SingleFlight = field(default_factory=SingleFlight)

    async def accept_ticket(self, new: NewTicket, asked: Asked, *, key: str | None) -> tuple[Accepted, bool]:
        """Save the ticket with its job; whether the answer is a replay.

        Raises KeyReused, NotFound (unknown customer), RateLimited, QueueFull, in this order, or DatabaseUnavailable;
        then nothing is saved, the key neither.
        """
        with self._span("POST /v1/tickets", asked) as span:
            trace = {"request_id": asked.request_id, "traceparent": traceparent_of(span)}
            accepted, is_replay = await self._accept_ticket(new, trace, key)
            span.set_attributes({"job_id": accepted.job_id, "ticket_id": accepted.ticket_id, "is_replay": is_replay})
            return accepted, is_replay

    async def accept_job(self, new: NewJob, asked: Asked, *, key: str | None) -> tuple[AcceptedJob, bool]:
        """Save a job that a workspace asks for. Raises as accept_ticket does, but for RateLimited."""
        with self._span("POST /v1/jobs", asked) as span:
            trace = {"request_id": asked.request_id, "traceparent": traceparent_of(span)}
            accepted, is_replay = await self._accept_job(new, trace, key)
            span.set_attributes({"job_id": accepted.job_id, "kind": new.kind, "is_replay": is_replay})
            return accepted, is_replay

    def _span(self, name: str, asked: Asked) -> AbstractContextManager[Span]:
        """The host's span of a request is the server's, and ours a part of it; where it has none, ours is."""
        role = SpanKind.INTERNAL if asked.host_traceparent else SpanKind.SERVER
        parent = remote(asked.host_traceparent or asked.traceparent)
        return self.signals.span(name, role, parent=parent)

    async def _accept_ticket(
        self, new: NewTicket, trace: dict[str, str | None], key: str | None
    ) -> tuple[Accepted, bool]:
        kind = self.ticket_kind

        async def save(connection: Connection) -> Accepted:
            params = new.model_dump() | trace | self._job_params(kind)
            with timed("rate_limit"):  # the statement that looks at the limits is the one that saves
                seen = await submit.ticket(connection, params)
            if seen.job_id is None or seen.ticket_id is None:
                raise self._refusal(kind, seen, new.customer_id, f"There is no customer {new.customer_id}.")
            log.info("job %d: queued (%s)", seen.job_id, ticket_name(seen.ticket_id))
            return Accepted(ticket_id=str(ticket_name(seen.ticket_id)), **self._answer(kind, seen.job_id, seen))

        scope = key and Key.of(key, route="POST /v1/tickets", actor=f"customer:{new.customer_id}", body=new)
        return await self._once(scope or None, Accepted, save)

    async def _accept_job(self, new: NewJob, trace: dict[str, str | None], key: str | None) -> tuple[AcceptedJob, bool]:
        kind, given = self._asked_for(new)

        async def save(connection: Connection) -> AcceptedJob:
            params = (
                trace
                | self._job_params(kind)
                | {
                    "workspace_id": new.workspace_id,
                    "input": {"task": new.task, **given},
                    "wants_approval": new.require_approval,
                    "webhook_url": new.webhook_url,
                    "deadline_s": new.timeout_seconds,
                }
            )
            with timed("rate_limit"):
                seen = await submit.job(connection, params)
            if seen.job_id is None:
                raise self._refusal(kind, seen, new.workspace_id, f"There is no workspace {new.workspace_id}.")
            log.info("job %d: queued (%s for %s)", seen.job_id, kind.name, new.workspace_id)
            return AcceptedJob(**self._answer(kind, seen.job_id, seen))

        scope = key and Key.of(key, route="POST /v1/jobs", actor=f"workspace:{new.workspace_id}", body=new)
        return await self._once(scope or None, AcceptedJob, save)

    def _asked_for(self, new: NewJob) -> tuple[Kind, dict[str, Any]]:
        """The kind, and its checked input. Raises InvalidInput."""
        kind = self.kinds.get(new.kind)
        if kind is None or kind.input is None:
            raise InvalidInput([FieldProblem("kind", "is no kind of job that can be asked for")])
        if new.webhook_url is not None:
            try:
                check_url(new.webhook_url, allow_private=self.rules.allow_private_webhooks)
            except UnusableUrl as exc:
                raise InvalidInput([FieldProblem("webhook_url", str(exc))]) from None
        try:
            given = kind.input.model_validate(new.input)
        except ValidationError as exc:
            raise InvalidInput(problems(exc, within="input")) from None
        return kind, given.model_dump(mode="json", by_alias=True)

    async def _once(self, key: Key | None, model: type[A], save: Submit[A]) -> tuple[A, bool]:
        """With a key: key and job in one short transaction, so that a refusal takes the key away again."""
        if key is None:
            return await self.db.run(save), False

        async def keep(connection: Connection) -> tuple[A, bool]:
            first = await idempotency.take(connection, key, ttl_s=self.rules.key_ttl_s)
            if first is not None:
                return model.model_validate(first), True
            accepted = await save(connection)
            await idempotency.keep(connection, key, accepted)
            return accepted, False

        (accepted, is_replay), was_shared = await self.flights.run(key, lambda: self.db.run(keep, in_transaction=True))
        return accepted, is_replay or was_shared

    def _answer(self, kind: Kind, job_id: int, seen: Submission) -> dict[str, Any]:
        return {
            "job_id": job_id,
            "state": "queued",
            "status_url": f"/v1/jobs/{job_id}",
            "queued_ahead": seen.queued_ahead,
            "estimated_wait_seconds": forecast.wait_s(
                seen, chat_calls=_first_plan(kind).chat_calls, limits=self.rules.lane
            ),
        }

    def _refusal(self, kind: Kind, seen: Submission, who: str, unknown: str) -> AppError:
        if not seen.asker_exists:
            return NotFound(unknown)
        if seen.queue_is_full and not (seen.rate_wait_s and seen.rate_wait_s > 0):
            chat_calls = _first_plan(kind).chat_calls
            wait_s = forecast.room_in_s(seen, chat_calls=chat_calls, limits=self.rules.lane)
            return QueueFull(f"{self.rules.queue_max} jobs wait already.", wait_s)
        limit = self.rules.rate_limit_per_minute
        return RateLimited(f"{who} sent {limit} tickets within a minute.", math.ceil(seen.rate_wait_s or 60))

    def _job_params(self, kind: Kind) -> dict[str, Any]:
        plan = _first_plan(kind)
        return {
            "kind": kind.name,
            "queue": kind.queue,
            "share": kind.share,
            "deadline_s": kind.deadline_s,
            "endpoint": plan.endpoint,
            "chat_calls": plan.chat_calls,
            "max_attempts": kind.max_attempts or self.rules.max_attempts,
            "queue_max": self.rules.queue_max,
            "rate_limit": self.rules.rate_limit_per_minute,
            **asdict(self.rules.lane),
        }


def _first_plan(kind: Kind) -> Plan:
    """The plan of a job of which nothing is known yet."""
    return Plan.of(kind, {}, wants_approval=False)
