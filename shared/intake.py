"""Intake: a checked request becomes a ticket, a job and an outbox row, at once, with no call to anybody else."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from shared import forecast, idempotency
from shared.api.models import Accepted, NewTicket
from shared.db import Connection, Database
from shared.errors import NotFound, QueueFull, RateLimited
from shared.idempotency import Key, SingleFlight
from shared.jobs import submit
from shared.jobs.submit import Submission
from shared.kinds.kind import Kind
from shared.log import logger
from shared.names import ticket_name
from shared.provider.lane import Limits
from shared.timing import timed

log = logger("intake")


@dataclass(frozen=True)
class Rules:
    """What intake allows; 0 = no limit. `key_ttl_s`: how long an Idempotency-Key lives, in seconds."""

    max_attempts: int
    queue_max: int
    rate_limit_per_minute: int
    key_ttl_s: float
    lane: Limits


@dataclass(frozen=True)
class Asked:
    """Who asked, for the logs and the trace."""

    request_id: str
    traceparent: str | None = None


@dataclass(frozen=True)
class Intake:
    """What accepting needs; `kind` is the kind of job that a ticket makes."""

    db: Database
    kind: Kind
    rules: Rules
    flights: SingleFlight = field(default_factory=SingleFlight)

    async def accept_ticket(self, new: NewTicket, asked: Asked, *, key: str | None) -> tuple[Accepted, bool]:
        """Save the ticket with its job; whether the answer is a replay.

        Raises KeyReused, NotFound (unknown customer), RateLimited, QueueFull, in this order, or DatabaseUnavailable;
        then nothing is saved, the key neither.
        """
        if key is None:
            return await self.db.run(lambda connection: self._submit(connection, new, asked)), False
        scope = Key.of(key, route="POST /v1/tickets", actor=f"customer:{new.customer_id}", body=new)
        (accepted, is_replay), was_shared = await self.flights.run(scope, lambda: self._submit_once(scope, new, asked))
        return accepted, is_replay or was_shared

    async def _submit_once(self, key: Key, new: NewTicket, asked: Asked) -> tuple[Accepted, bool]:
        """Key and job in one short transaction: a refusal takes the key away again."""

        async def work(connection: Connection) -> tuple[Accepted, bool]:
            first = await idempotency.take(connection, key, ttl_s=self.rules.key_ttl_s)
            if first is not None:
                return Accepted.model_validate(first), True
            accepted = await self._submit(connection, new, asked)
            await idempotency.keep(connection, key, accepted)
            return accepted, False

        return await self.db.run(work, in_transaction=True)

    async def _submit(self, connection: Connection, new: NewTicket, asked: Asked) -> Accepted:
        with timed("rate_limit"):  # the statement that looks at the limits is the one that saves
            seen = await submit.ticket(connection, new.model_dump() | asdict(asked) | self._job_params())
        if seen.job_id is None or seen.ticket_id is None:
            raise self._refusal(new, seen)
        log.info("job %d: queued (%s)", seen.job_id, ticket_name(seen.ticket_id))
        return Accepted(
            ticket_id=str(ticket_name(seen.ticket_id)),
            job_id=seen.job_id,
            state="queued",
            status_url=f"/v1/jobs/{seen.job_id}",
            queued_ahead=seen.queued_ahead,
            estimated_wait_seconds=forecast.wait_s(seen, chat_calls=self._chat_calls, limits=self.rules.lane),
        )

    def _refusal(self, new: NewTicket, seen: Submission) -> NotFound | RateLimited | QueueFull:
        if not seen.asker_exists:
            return NotFound(f"There is no customer {new.customer_id}.")
        if seen.queue_is_full and not (seen.rate_wait_s and seen.rate_wait_s > 0):
            wait_s = forecast.room_in_s(seen, chat_calls=self._chat_calls, limits=self.rules.lane)
            return QueueFull(f"{self.rules.queue_max} jobs wait already.", wait_s)
        return RateLimited(
            f"{new.customer_id} sent {self.rules.rate_limit_per_minute} tickets within a minute.",
            math.ceil(seen.rate_wait_s or 60),
        )

    @property
    def _chat_calls(self) -> int:
        return self.kind.chat_calls({})

    def _job_params(self) -> dict[str, Any]:
        return {
            "kind": self.kind.name,
            "queue": self.kind.queue,
            "deadline_s": self.kind.deadline_s,
            "endpoint": self.kind.endpoint({}),
            "chat_calls": self._chat_calls,
            "max_attempts": self.rules.max_attempts,
            "queue_max": self.rules.queue_max,
            "rate_limit": self.rules.rate_limit_per_minute,
            **asdict(self.rules.lane),
        }
