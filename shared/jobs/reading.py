"""Reading jobs: one with its way, a page of them, and the queue's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from pydantic import TypeAdapter

from shared.db import Database, Row

_COLUMNS: LiteralString = """
    job_id, kind, ticket_id, workspace_id, actor, state, attempts, max_attempts, progress, created_at, started_at,
    finished_at, run_after, cancel_requested, last_error, discarded_by, discarded_at, result
"""

_WAY: LiteralString = (
    _COLUMNS
    + """, wants_approval,
    greatest(0, extract(epoch FROM run_after - clock_timestamp()))::float8 AS due_in_s,
    coalesce((SELECT jsonb_agg(jsonb_build_object('name', name, 'state', state, 'position', position, 'started_at',
                                started_at, 'finished_at', finished_at, 'detail', detail) ORDER BY position, name)
              FROM job_steps WHERE job_steps.job_id = jobs.job_id), '[]') AS steps,
    coalesce((SELECT jsonb_agg(to_jsonb(job_runs) - '{job_id, queue, announced_at}'::text[] ORDER BY run)
              FROM job_runs WHERE job_runs.job_id = jobs.job_id), '[]') AS history,
    (SELECT to_jsonb(approvals) FROM approvals WHERE approvals.job_id = jobs.job_id
     ORDER BY approval_id DESC LIMIT 1) AS approval,
    coalesce((SELECT jsonb_agg(jsonb_build_object('name', name, 'token', token, 'content_type', content_type,
                                                  'size', octet_length(content), 'sha256', sha256) ORDER BY name)
              FROM artifacts WHERE artifacts.job_id = jobs.job_id), '[]') AS artifacts,
    (SELECT jsonb_build_object('state', told.state, 'attempts', told.attempts, 'last_status',
                coalesce(told.result->'status', told.last_error->'status'))
     FROM jobs AS told WHERE told.about_job_id = jobs.job_id ORDER BY told.job_id DESC LIMIT 1) AS webhook
"""
)

ONE: LiteralString = "SELECT" + _WAY + "FROM jobs WHERE job_id = %(job_id)s"

# How awaited jobs stand, and everything about those of which somebody is to be told now: a change against what they
# saw, an end, or their time is up.
AWAITED: LiteralString = (
    """
WITH asked AS (
    SELECT * FROM unnest(%(job_ids)s::bigint[], %(states)s::text[], %(progresses)s::integer[], %(lates)s::boolean[])
        AS waiter (job_id, seen_state, seen_progress, is_late)
), told AS (
    SELECT jobs.job_id, state, progress, bool_or(is_late OR finished_at IS NOT NULL
               OR (seen_state IS NOT NULL AND (seen_state, seen_progress) <> (state, progress::integer))) AS is_told
    FROM asked JOIN jobs ON jobs.job_id = asked.job_id GROUP BY jobs.job_id
)
SELECT told.job_id, told.state, told.progress, way.way FROM told LEFT JOIN LATERAL (
    SELECT to_jsonb(job) AS way FROM (SELECT"""
    + _WAY
    + """FROM jobs WHERE jobs.job_id = told.job_id AND told.is_told) AS job
) AS way ON true
"""
)

# Every pair of state and kind there is, a dozen steps through an index, and of each that is asked for the newest jobs.
# Ranges and the index's own order, where equality would say the same: it keeps the planner from the primary key, which
# it takes for short when a pair is frequent, and which reads everything when the pair asked for is not.
PAGE: LiteralString = (
    """
WITH RECURSIVE piles AS (
    (SELECT state, kind FROM jobs ORDER BY state, kind LIMIT 1)
    UNION ALL
    SELECT further.state, further.kind FROM piles CROSS JOIN LATERAL (
        SELECT state, kind FROM jobs WHERE (state, kind) > (piles.state, piles.kind) ORDER BY state, kind LIMIT 1
    ) AS further
), newest AS (
    SELECT job_id FROM piles CROSS JOIN LATERAL (
        SELECT job_id FROM jobs
        WHERE (jobs.state, jobs.kind) >= (piles.state, piles.kind)
          AND (jobs.state, jobs.kind, job_id) < (piles.state, piles.kind, %(before)s)
          AND (%(workspace_id)s::text IS NULL OR workspace_id = %(workspace_id)s)
          AND (%(error_code)s::text IS NULL OR last_error->>'code' = %(error_code)s)
        ORDER BY jobs.state DESC, jobs.kind DESC, job_id DESC LIMIT %(limit)s
    ) AS pile
    WHERE (%(state)s::text IS NULL OR piles.state = %(state)s)
      AND (piles.kind = %(kind)s OR (%(kind)s::text IS NULL AND piles.kind <> 'webhook'))
    ORDER BY job_id DESC LIMIT %(limit)s
)
SELECT"""
    + _COLUMNS
    + """
FROM newest JOIN jobs USING (job_id) ORDER BY job_id DESC
"""
)

# Every part reads a partial index of what is alive, or one state's entries. Webhooks are counted with the kinds only.
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
), own AS (
    SELECT * FROM kinds WHERE kind <> 'webhook'
)
SELECT (SELECT coalesce(sum(queued), 0)::int FROM own) AS queued,
       (SELECT coalesce(sum(ready), 0)::int FROM own) AS ready,
       (SELECT coalesce(sum(running), 0)::int FROM own) AS running,
       (SELECT count(*) FROM jobs WHERE state = 'waiting_for_approval') AS waiting_for_approval,
       (SELECT count(*) FROM jobs WHERE state = 'dead_letter' AND kind <> 'webhook') AS dead_letter,
       (SELECT count(*) FROM jobs WHERE state = 'failed' AND kind <> 'webhook') AS failed,
       (SELECT count(*) FROM jobs WHERE finished_at > now() - interval '1 minute' AND kind <> 'webhook')
           AS finished_last_minute,
       (SELECT coalesce(max(oldest_queued_seconds), 0) FROM own) AS oldest_queued_seconds,
       (SELECT coalesce(jsonb_object_agg(kind, to_jsonb(kinds) - 'kind'), '{}') FROM kinds) AS kinds
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

    wants_approval: bool
    due_in_s: float
    steps: list[dict[str, Any]]
    history: list[dict[str, Any]]
    approval: dict[str, Any] | None
    artifacts: list[dict[str, Any]]
    webhook: dict[str, Any] | None


async def one(db: Database, job_id: int) -> JobWay | None:
    return await db.fetch_one(ONE, {"job_id": job_id}, JobWay)


_AS_WAY = TypeAdapter(JobWay)


@dataclass(frozen=True)
class Awaited:
    """How an awaited job stands; `way` only when somebody is to be told."""

    job_id: int
    state: str
    progress: int
    way: JobWay | None


@dataclass(frozen=True)
class Look:
    """One waiter's question: how the job stood for them (None: not seen yet), and whether their time is up."""

    job_id: int
    state: str | None
    progress: int | None
    is_late: bool


async def awaited(db: Database, looks: list[Look]) -> list[Awaited]:
    """One statement for all who wait; jobs that do not exist are missing in the answer."""
    params = {
        "job_ids": [look.job_id for look in looks],
        "states": [look.state for look in looks],
        "progresses": [look.progress for look in looks],
        "lates": [look.is_late for look in looks],
    }
    rows = await db.fetch_dicts(AWAITED, params)
    return [
        Awaited(row["job_id"], row["state"], row["progress"], row["way"] and _AS_WAY.validate_python(row["way"]))
        for row in rows
    ]


async def page(db: Database, filters: dict[str, Any]) -> list[JobRow]:
    """Newest first, below the number `before`, at most `limit`; a filter that is None does not filter."""
    return await db.fetch_all(PAGE, filters, JobRow, plan_anew=True)


async def numbers(db: Database) -> Row:
    """The queue's numbers, named as in the API."""
    row = await db.fetch_dict(NUMBERS)
    if row is None:
        raise RuntimeError("an aggregate returned no row")
    return row
