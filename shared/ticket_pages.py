"""The tickets of a workspace's period: which they are, counted in the database, and their texts page by page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from shared.db import Database

DEFAULT_DAYS = 7  # back from the period's end, where a caller names no start
TEXT_LIMIT = 450  # characters of a ticket's body that are read

# One statement, so that ids and counts are of the same moment. A ticket that comes later is in no page.
TAKE: LiteralString = """
WITH period AS (
    SELECT coalesce(%(since)s::timestamptz, until - %(days)s * interval '1 day') AS since, until
    FROM (SELECT coalesce(%(until)s::timestamptz, statement_timestamp()) AS until) AS given
), taken AS MATERIALIZED (
    SELECT ticket_id, team, priority, channel, (tickets.created_at AT TIME ZONE 'UTC')::date AS day
    FROM tickets, period
    WHERE workspace_id = %(workspace_id)s AND tickets.created_at >= since AND tickets.created_at < until
    ORDER BY tickets.created_at DESC, ticket_id DESC LIMIT %(max_tickets)s
), numbered AS (
    SELECT ticket_id, (row_number() OVER (ORDER BY ticket_id) - 1) / %(page_size)s AS page FROM taken
), pages AS (
    SELECT page, jsonb_agg(ticket_id ORDER BY ticket_id) AS ids FROM numbered GROUP BY page
)
SELECT since, until, statement_timestamp() AS taken_at,
    (SELECT count(*) FROM tickets
     WHERE workspace_id = %(workspace_id)s AND created_at >= since AND created_at < until) AS in_period,
    (SELECT count(*) FROM taken) AS tickets,
    (SELECT coalesce(jsonb_object_agg(coalesce(team, 'unclassified'), n), '{}')
     FROM (SELECT team, count(*) AS n FROM taken GROUP BY team) AS counted) AS by_team,
    (SELECT coalesce(jsonb_object_agg(coalesce(priority::text, 'unclassified'), n), '{}')
     FROM (SELECT priority, count(*) AS n FROM taken GROUP BY priority) AS counted) AS by_priority,
    (SELECT coalesce(jsonb_object_agg(channel, n), '{}')
     FROM (SELECT channel, count(*) AS n FROM taken GROUP BY channel) AS counted) AS by_channel,
    (SELECT coalesce(jsonb_object_agg(day, n), '{}')
     FROM (SELECT day, count(*) AS n FROM taken GROUP BY day) AS counted) AS by_day,
    (SELECT coalesce(jsonb_agg(ids ORDER BY page), '[]') FROM pages) AS pages
FROM period
"""

TEXTS: LiteralString = """
SELECT ticket_id, subject, left(body, %(text_limit)s) AS text FROM tickets
WHERE ticket_id = ANY(%(ids)s) AND workspace_id = %(workspace_id)s ORDER BY ticket_id
"""


@dataclass(frozen=True)
class Taken:
    """The newest tickets created in [since, until), as they stood at `taken_at`.

    `in_period` counts all of them, everything else the `tickets` that were taken. What the AI has not sorted yet is
    `unclassified`; days are UTC, those without a ticket are missing. `pages` are ids, oldest first.
    """

    since: datetime
    until: datetime
    taken_at: datetime
    in_period: int
    tickets: int
    by_team: dict[str, int]
    by_priority: dict[str, int]
    by_channel: dict[str, int]
    by_day: dict[str, int]
    pages: list[list[int]]


@dataclass(frozen=True)
class PageRow:
    """What a customer wrote, the text cut after TEXT_LIMIT characters."""

    ticket_id: int
    subject: str
    text: str


async def take(
    db: Database, workspace_id: str, *, since: str | None, until: str | None, max_tickets: int, page_size: int
) -> Taken:
    """Find and count the tickets of a period (RFC 3339; until now and for seven days where nothing is given)."""
    params = {
        "workspace_id": workspace_id,
        "since": since,
        "until": until,
        "days": DEFAULT_DAYS,
        "max_tickets": max_tickets,
        "page_size": page_size,
    }
    taken = await db.fetch_one(TAKE, params, Taken)
    if taken is None:
        raise RuntimeError("a period has no row")
    return taken


async def texts(db: Database, workspace_id: str, ids: list[int]) -> list[PageRow]:
    """One page; tickets that were deleted meanwhile are missing."""
    return await db.fetch_all(TEXTS, {"workspace_id": workspace_id, "ids": ids, "text_limit": TEXT_LIMIT}, PageRow)
