"""Intake: a checked request becomes a ticket, a job and an outbox row, in one statement, with no other call."""

from __future__ import annotations

from dataclasses import dataclass

from shared.db import Database
from shared.errors import NotFound
from shared.jobs import submit
from shared.kinds.kind import Kind
from shared.log import logger
from shared.models import Accepted, NewTicket
from shared.names import ticket_name

log = logger("intake")

WITHIN_S = 2.5  # a caller is never kept waiting for a database that does not answer


@dataclass(frozen=True)
class Intake:
    """What accepting needs; `kind` is the kind of job that a ticket makes."""

    db: Database
    kind: Kind
    max_attempts: int

    async def accept_ticket(self, new: NewTicket, *, request_id: str, traceparent: str | None) -> Accepted:
        """Save the ticket with its job. Raises NotFound (unknown customer), DatabaseUnavailable."""
        params = new.model_dump() | {
            "kind": self.kind.name,
            "queue": self.kind.queue,
            "max_attempts": self.max_attempts,
            "deadline_s": self.kind.deadline_s,
            "endpoint": self.kind.endpoint({}),
            "chat_calls": self.kind.chat_calls({}),
            "request_id": request_id,
            "traceparent": traceparent,
        }
        async with self.db.connection(within_s=WITHIN_S) as connection:
            saved = await submit.ticket(connection, params)
        if saved is None:
            raise NotFound(f"There is no customer {new.customer_id}.")
        log.info("job %d: queued (%s)", saved.job_id, ticket_name(saved.ticket_id))
        return Accepted(
            ticket_id=str(ticket_name(saved.ticket_id)),
            job_id=saved.job_id,
            state="queued",
            status_url=f"/v1/jobs/{saved.job_id}",
            queued_ahead=saved.queued_ahead,
            estimated_wait_seconds=None,
        )
