"""The tables customers and tickets, apart from the one statement that saves a new ticket with its job."""

from __future__ import annotations

from collections.abc import Mapping
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

_FILTERS: Mapping[str, LiteralString] = {
    "ai_state": "jobs.state = %(ai_state)s",
    "team": "team = %(team)s",
    "customer_id": "customer_id = %(customer_id)s",
    "workspace_id": "tickets.workspace_id = %(workspace_id)s",
}


@dataclass(frozen=True)
class _Lead:
    """Filters with an index of their own: the rows below a cursor, in the index's order; others look at what it gives.

    The rows are a range, where equality would say the same: it keeps the planner from the primary key, which it takes
    for short when a value is frequent, and which reads everything when the value has not come up for long.
    """

    filters: frozenset[str]
    rows: LiteralString
    order: LiteralString


_LEADS = (  # the narrowest first
    _Lead(
        frozenset({"customer_id"}),
        "customer_id >= %(customer_id)s AND (customer_id, tickets.ticket_id) < (%(customer_id)s, %(before)s)",
        "customer_id DESC, tickets.ticket_id DESC",
    ),
    _Lead(
        frozenset({"workspace_id", "ai_state"}),
        "(jobs.workspace_id, jobs.state) >= (%(workspace_id)s, %(ai_state)s)"
        " AND (jobs.workspace_id, jobs.state, jobs.ticket_id) < (%(workspace_id)s, %(ai_state)s, %(before)s)"
        " AND jobs.state <> 'succeeded'",
        "jobs.workspace_id DESC, jobs.state DESC, jobs.ticket_id DESC",
    ),
    _Lead(
        frozenset({"ai_state"}),
        "jobs.state >= %(ai_state)s AND (jobs.state, jobs.ticket_id) < (%(ai_state)s, %(before)s)"
        " AND jobs.state <> 'succeeded'",
        "jobs.state DESC, jobs.ticket_id DESC",
    ),
    _Lead(
        frozenset({"workspace_id", "team"}),
        "(tickets.workspace_id, team) >= (%(workspace_id)s, %(team)s)"
        " AND (tickets.workspace_id, team, tickets.ticket_id) < (%(workspace_id)s, %(team)s, %(before)s)",
        "tickets.workspace_id DESC, team DESC, tickets.ticket_id DESC",
    ),
    _Lead(
        frozenset({"workspace_id"}),
        "tickets.workspace_id >= %(workspace_id)s"
        " AND (tickets.workspace_id, tickets.ticket_id) < (%(workspace_id)s, %(before)s)",
        "tickets.workspace_id DESC, tickets.ticket_id DESC",
    ),
    _Lead(
        frozenset({"team"}),
        "team >= %(team)s AND (team, tickets.ticket_id) < (%(team)s, %(before)s)",
        "team DESC, tickets.ticket_id DESC",
    ),
    _Lead(frozenset(), "tickets.ticket_id < %(before)s", "tickets.ticket_id DESC"),
)


def _page(given: frozenset[str], *, state_is_rare: bool) -> LiteralString:
    able = given if state_is_rare else given - {"ai_state"}
    lead = next(lead for lead in _LEADS if lead.filters <= able)
    conditions = [lead.rows, *(_FILTERS[name] for name in sorted(given - lead.filters))]
    return _COLUMNS + "WHERE " + " AND ".join(conditions) + " ORDER BY " + lead.order + " LIMIT %(limit)s"


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


async def page(db: Database, filters: Mapping[str, Any]) -> list[TicketRow]:
    """Newest first, below the number `before`, at most `limit`; a filter that is None does not filter."""
    given = frozenset(name for name in _FILTERS if filters[name] is not None)
    statement = _page(given, state_is_rare=filters["ai_state"] != "succeeded")
    return await db.fetch_all(statement, filters, TicketRow, plan_anew=True)
