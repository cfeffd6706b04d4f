"""Tickets that are like a ticket: the nearest of its workspace by the cosine of their embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg.rows import class_row

from shared.db import Connection, Database

#: Tickets of a workspace that are compared one by one; beyond, an index proposes (`python -m benchmarks similar`).
EXACT_UP_TO = 5_000
PROPOSED = 4  # for each that is asked for: the index errs in the order of near ones more than in who is near

LOOK: LiteralString = """
SELECT tickets.ticket_id, tickets.workspace_id, embedding_version, embedding IS NOT NULL AS is_embedded, job_id,
       jobs.state AS ai_state, last_error->>'code' AS error_code,
       (SELECT count(*) FROM (
            SELECT FROM tickets AS others
            WHERE others.workspace_id = tickets.workspace_id AND others.embedding_version = tickets.embedding_version
              AND others.embedding IS NOT NULL LIMIT %(exact_up_to)s + 1) AS counted) > %(exact_up_to)s AS is_crowded
FROM tickets LEFT JOIN jobs ON jobs.ticket_id = tickets.ticket_id
WHERE tickets.ticket_id = %(ticket_id)s
"""

# The filter is applied after the index, which therefore goes on until enough have passed it.
GO_ON: LiteralString = """
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '100', true)
"""

_SAMPLE: LiteralString = "(SELECT sample.embedding FROM tickets AS sample WHERE sample.ticket_id = %(ticket_id)s)"

_COMPARABLE: LiteralString = """
    SELECT ticket_id FROM tickets
    WHERE workspace_id = %(workspace_id)s AND embedding_version = %(embedding_version)s AND embedding IS NOT NULL
      AND ticket_id <> %(ticket_id)s
"""

# A vector of zeros has no direction: it is like nothing.
_NEAREST: LiteralString = (
    """
SELECT ticket_id, subject, team, created_at,
       least(1, coalesce(1 - nullif(embedding <=> """
    + _SAMPLE
    + """, 'NaN'), 0)) AS similarity
FROM near JOIN tickets USING (ticket_id) ORDER BY similarity DESC, ticket_id DESC LIMIT %(k)s
"""
)

EXACT: LiteralString = (
    "WITH near AS MATERIALIZED (" + _COMPARABLE + "    ORDER BY embedding <=> " + _SAMPLE + " LIMIT %(k)s)" + _NEAREST
)

# Its expression is the index's, word for word.
BY_INDEX: LiteralString = (
    "WITH near AS MATERIALIZED ("
    + _COMPARABLE
    + "    ORDER BY embedding::halfvec(384) <=> "
    + _SAMPLE
    + "::halfvec(384) LIMIT %(proposed)s)"
    + _NEAREST
)


@dataclass(frozen=True)
class Place:
    """Where a ticket stands: what it may be compared with, and if it has no embedding yet, how its job is.

    `is_crowded`: its workspace has more such tickets than are compared one by one.
    """

    ticket_id: int
    workspace_id: str
    embedding_version: str | None
    is_embedded: bool
    job_id: int | None
    ai_state: str | None
    error_code: str | None
    is_crowded: bool


@dataclass(frozen=True)
class SimilarRow:
    """A ticket that is like another; `similarity` is the cosine, 1 for the same direction."""

    ticket_id: int
    subject: str
    team: str | None
    created_at: datetime
    similarity: float


async def look(db: Database, ticket_id: int, *, exact_up_to: int = EXACT_UP_TO) -> Place | None:
    return await db.fetch_one(LOOK, {"ticket_id": ticket_id, "exact_up_to": exact_up_to}, Place)


async def nearest(db: Database, place: Place, k: int) -> list[SimilarRow]:
    """The `k` most similar tickets of its workspace and embedding version, or all if there are not so many."""
    params = {
        "ticket_id": place.ticket_id,
        "workspace_id": place.workspace_id,
        "embedding_version": place.embedding_version,
        "k": k,
        "proposed": PROPOSED * k,
    }
    found = await _by_index(db, params) if place.is_crowded else []
    if len(found) == k:
        return found
    return await db.fetch_all(EXACT, params, SimilarRow, plan_anew=True)  # an index that gave up is no answer


async def _by_index(db: Database, params: dict[str, Any]) -> list[SimilarRow]:
    """In a transaction, because the settings of a scan must neither leak to others nor get lost in a pooler."""

    async def work(connection: Connection) -> list[SimilarRow]:
        await connection.execute(GO_ON)
        async with connection.cursor(row_factory=class_row(SimilarRow)) as cursor:
            await cursor.execute(BY_INDEX, params, prepare=False)
            return await cursor.fetchall()

    return await db.run(work, in_transaction=True)
