"""The tables customers and tickets, apart from the one statement that saves a new ticket with its job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from shared.db import Database

PUT_CUSTOMER: LiteralString = """
INSERT INTO customers (customer_id, name, workspace_id)
VALUES (%(customer_id)s, %(name)s, %(workspace_id)s)
ON CONFLICT (customer_id) DO UPDATE
    SET name = excluded.name, workspace_id = excluded.workspace_id, updated_at = clock_timestamp()
RETURNING customer_id, name, workspace_id, xmax = 0 AS was_created
"""

TEXT: LiteralString = "SELECT subject, body FROM tickets WHERE ticket_id = %(ticket_id)s"

_COLUMNS: LiteralString = """
SELECT tickets.ticket_id, customer_id, tickets.workspace_id, subject, body, channel, tickets.created_at, job_id,
       jobs.state AS ai_state, team, priority, draft_reply
FROM tickets LEFT JOIN jobs ON jobs.ticket_id = tickets.ticket_id
"""

ONE: LiteralString = _COLUMNS + "WHERE tickets.ticket_id = %(ticket_id)s"

PAGE: LiteralString = (
    _COLUMNS
    + """
WHERE (%(ai_state)s::text IS NULL OR jobs.state = %(ai_state)s)
  AND (%(team)s::text IS NULL OR team = %(team)s)
  AND (%(customer_id)s::text IS NULL OR customer_id = %(customer_id)s)
  AND (%(before)s::bigint IS NULL OR tickets.ticket_id < %(before)s)
ORDER BY tickets.ticket_id DESC LIMIT %(limit)s
"""
)


@dataclass(frozen=True)
class CustomerRow:
    customer_id: str
    name: str
    workspace_id: str
    was_created: bool


@dataclass(frozen=True)
class TicketText:
    subject: str
    body: str


@dataclass(frozen=True)
class TicketRow:
    """A ticket with the state of its AI work (None for one that came without a job)."""

    ticket_id: int
    customer_id: str
    workspace_id: str
    subject: str
    body: str
    channel: str
    created_at: datetime
    job_id: int | None
    ai_state: str | None
    team: str | None
    priority: int | None
    draft_reply: str | None


async def put_customer(db: Database, params: dict[str, Any]) -> CustomerRow:
    """Create or replace a customer; a workspace exists as soon as a customer names it."""
    row = await db.fetch_one(PUT_CUSTOMER, params, CustomerRow)
    if row is None:
        raise RuntimeError("an upsert returned no row")
    return row


async def text(db: Database, ticket_id: int) -> TicketText | None:
    """What the customer wrote."""
    return await db.fetch_one(TEXT, {"ticket_id": ticket_id}, TicketText)


async def one(db: Database, ticket_id: int) -> TicketRow | None:
    return await db.fetch_one(ONE, {"ticket_id": ticket_id}, TicketRow)


async def page(db: Database, filters: dict[str, Any]) -> list[TicketRow]:
    """Newest first, below the number `before`, at most `limit`; a filter that is None does not filter."""
    return await db.fetch_all(PAGE, filters, TicketRow)
