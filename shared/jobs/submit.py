"""The arrow – → queued: a ticket, its job and its outbox row, saved in one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

from shared.db import Connection

TICKET: LiteralString = """
WITH asker AS (
    SELECT customer_id, workspace_id FROM customers WHERE customer_id = %(customer_id)s
), ticket AS (
    INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)
    SELECT customer_id, workspace_id, %(subject)s, %(body)s, %(channel)s FROM asker
    RETURNING ticket_id, customer_id, workspace_id
), job AS (
    INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s, endpoint, chat_calls_left,
                      request_id, traceparent)
    SELECT %(kind)s, %(queue)s, ticket_id, workspace_id, 'customer:' || customer_id, %(max_attempts)s, %(deadline_s)s,
           %(endpoint)s, %(chat_calls)s, %(request_id)s, %(traceparent)s
    FROM ticket
    RETURNING job_id, ticket_id, queue, delivery, state, run_after
), announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery, due_at)
    SELECT queue, 'work', job_id, delivery, run_after FROM job
)
SELECT job_id, ticket_id, state,
       (SELECT count(*) FROM (SELECT FROM jobs WHERE jobs.kind = %(kind)s AND jobs.state = 'queued' LIMIT 1000) ahead)
           AS queued_ahead
FROM job
"""


@dataclass(frozen=True)
class Submitted:
    """What the caller is told: the ids, and how many queued jobs of the kind stood before this one (≤ 1,000)."""

    job_id: int
    ticket_id: int
    state: str
    queued_ahead: int


async def ticket(connection: Connection, params: dict[str, Any]) -> Submitted | None:
    """Save a ticket with its job; None when the customer does not exist (nothing is saved then)."""
    row = await (await connection.execute(TICKET, params)).fetchone()
    return Submitted(**row) if row else None
