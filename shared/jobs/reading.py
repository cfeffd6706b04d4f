"""Reading jobs: one with its way, a page of them, and the queue's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from shared.db import Database, Row

_COLUMNS: LiteralString = """
    job_id, kind, ticket_id, workspace_id, actor, state, attempts, max_attempts, progress, created_at, started_at,
    finished_at, run_after, cancel_requested, last_error, discarded_by, discarded_at, result
"""

ONE: LiteralString = (
    "SELECT"
    + _COLUMNS
    + """,
    greatest(0, extract(epoch FROM run_after - clock_timestamp()))::float8 AS due_in_s,
    coalesce((SELECT jsonb_agg(jsonb_build_object('name', name, 'state', state, 'started_at', started_at,
                                                  'finished_at', finished_at, 'detail', detail) ORDER BY position)
              FROM job_steps WHERE job_steps.job_id = jobs.job_id), '[]') AS steps,
    coalesce((SELECT jsonb_agg(to_jsonb(job_runs) - '{job_id, queue, announced_at}'::text[] ORDER BY run)
              FROM job_runs WHERE job_runs.job_id = jobs.job_id), '[]') AS history
FROM jobs WHERE job_id = %(job_id)s
"""
)

PAGE: LiteralString = (
    "SELECT"
    + _COLUMNS
    + """
FROM jobs
WHERE (%(state)s::text IS NULL OR state = %(state)s)
  AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(workspace_id)s::text IS NULL OR workspace_id = %(workspace_id)s)
  AND (%(before)s::bigint IS NULL OR job_id < %(before)s)
ORDER BY job_id DESC LIMIT %(limit)s
"""
)

# Every part reads a partial index of what is alive, or one state's entries.
NUMBERS: LiteralString = """
WITH waiting AS (
    SELECT kind, count(*) AS queued, count(*) FILTER (WHERE run_after <= now()) AS ready,
           min(run_after) FILTER (WHERE run_after <= now()) AS oldest
    FROM jobs WHERE state = 'queued' GROUP BY kind
), working AS (
    SELECT kind, count(*) AS running FROM jobs WHERE state = 'running' GROUP BY kind
), kinds AS (
    SELECT kind, coalesce(queued, 0) AS queued, coalesce(ready, 0) AS ready, coalesce(running, 0) AS running,
           coalesce(extract(epoch FROM now() - oldest), 0)::float8 AS oldest_queued_seconds
    FROM waiting FULL JOIN working USING (kind)
)
SELECT coalesce(sum(queued), 0)::int AS queued, coalesce(sum(ready), 0)::int AS ready,
       coalesce(sum(running), 0)::int AS running,
       (SELECT count(*) FROM jobs WHERE state = 'waiting_for_approval') AS waiting_for_approval,
       (SELECT count(*) FROM jobs WHERE state = 'dead_letter') AS dead_letter,
       (SELECT count(*) FROM jobs WHERE state = 'failed') AS failed,
       (SELECT count(*) FROM jobs WHERE finished_at > now() - interval '1 minute') AS finished_last_minute,
       coalesce(max(oldest_queued_seconds), 0) AS oldest_queued_seconds,
       coalesce(jsonb_object_agg(kind, to_jsonb(kinds) - 'kind') FILTER (WHERE kind IS NOT NULL), '{}') AS kinds
FROM kinds
"""


@dataclass(frozen=True)
class JobRow:
    """A job as the lists show it."""

    job_id: int
    kind: str
    ticket_id: int | None
    workspace_id: str
    actor: str
    state: str
    attempts: int
    max_attempts: int
    progress: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    run_after: datetime
    cancel_requested: bool
    last_error: dict[str, Any] | None
    discarded_by: str | None
    discarded_at: datetime | None
    result: dict[str, Any] | None


@dataclass(frozen=True)
class JobWay(JobRow):
    """A job with its steps so far and its runs; `due_in_s` = seconds until it may run."""

    due_in_s: float
    steps: list[dict[str, Any]]
    history: list[dict[str, Any]]


async def one(db: Database, job_id: int) -> JobWay | None:
    return await db.fetch_one(ONE, {"job_id": job_id}, JobWay)


async def page(db: Database, filters: dict[str, Any]) -> list[JobRow]:
    """Newest first, below the number `before`, at most `limit`; a filter that is None does not filter."""
    return await db.fetch_all(PAGE, filters, JobRow)


async def numbers(db: Database) -> Row:
    """The queue's numbers, named as in the API."""
    row = await db.fetch_dict(NUMBERS)
    if row is None:
        raise RuntimeError("an aggregate returned no row")
    return row
