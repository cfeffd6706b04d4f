"""The arrows out of waiting_for_approval, and the questions that people decide.

The job's row comes first in every statement: of two that decide at once, the second finds it moved and decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from shared.db import Database
from shared.jobs.people import Moved

APPROVE: LiteralString = """
WITH job AS (
    UPDATE jobs SET state = 'queued', delivery = delivery + 1, run_after = clock_timestamp()
    WHERE job_id = %(job_id)s AND state = 'waiting_for_approval' AND NOT EXISTS (
        SELECT FROM approvals WHERE approvals.job_id = jobs.job_id AND approvals.state = 'waiting'
        AND expires_at <= clock_timestamp())
    RETURNING job_id, state, queue, delivery, endpoint, run_after
), decided AS (
    UPDATE approvals SET state = 'approved', decided_by = %(by)s, decided_at = clock_timestamp(), comment = %(comment)s
    FROM job WHERE approvals.job_id = job.job_id AND approvals.state = 'waiting'
    RETURNING approvals.job_id, step, asked_at
), saved AS (
    INSERT INTO job_steps (job_id, name, position, state, started_at, finished_at, output)
    SELECT job_id, step, (SELECT coalesce(max(position) + 1, 0) FROM job_steps WHERE job_id = decided.job_id),
           'succeeded', asked_at, clock_timestamp(), jsonb_build_object('decided_by', %(by)s::text)
    FROM decided
    ON CONFLICT (job_id, name) DO UPDATE SET state = 'succeeded', started_at = excluded.started_at,
        finished_at = excluded.finished_at, output = excluded.output
), announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint, due_at)
    SELECT queue, 'work', job_id, delivery, endpoint, run_after FROM job
)
SELECT job_id, state FROM job
"""

REJECT: LiteralString = """
WITH job AS (
    UPDATE jobs SET state = 'cancelled', finished_at = clock_timestamp(), last_error = jsonb_build_object(
        'code', 'rejected', 'message', %(message)s::text, 'at', clock_timestamp(), 'attempt', attempts)
    WHERE job_id = %(job_id)s AND state = 'waiting_for_approval'
    RETURNING job_id, state
), decided AS (
    UPDATE approvals SET state = 'rejected', decided_by = %(by)s, decided_at = clock_timestamp(), comment = %(comment)s
    FROM job WHERE approvals.job_id = job.job_id AND approvals.state = 'waiting'
)
SELECT job_id, state FROM job
"""

EXPIRE: LiteralString = """
WITH late AS (
    SELECT job_id FROM approvals WHERE state = 'waiting' AND expires_at < clock_timestamp()
    ORDER BY expires_at LIMIT %(limit)s
), job AS (
    UPDATE jobs SET state = 'cancelled', finished_at = clock_timestamp(), last_error = jsonb_build_object(
        'code', 'approval_expired', 'message', 'Nobody approved it in time.', 'at', clock_timestamp(),
        'attempt', attempts)
    FROM late WHERE jobs.job_id = late.job_id AND jobs.state = 'waiting_for_approval'
    RETURNING jobs.job_id, jobs.state
), decided AS (
    UPDATE approvals SET state = 'expired', decided_at = clock_timestamp()
    FROM job WHERE approvals.job_id = job.job_id AND approvals.state = 'waiting'
)
SELECT job_id, state FROM job
"""

LATEST: LiteralString = """
SELECT state, decided_by, decided_at FROM approvals WHERE job_id = %(job_id)s ORDER BY approval_id DESC LIMIT 1
"""


@dataclass(frozen=True)
class Verdict:
    """What became of the newest question."""

    state: str
    decided_by: str | None
    decided_at: datetime | None


async def approve(db: Database, job_id: int, by: str, comment: str | None) -> Moved | None:
    """waiting_for_approval → queued, with the approval saved as the step it is; None when the job does not wait."""
    return await db.fetch_one(APPROVE, {"job_id": job_id, "by": by, "comment": comment}, Moved)


async def reject(db: Database, job_id: int, by: str, comment: str | None) -> Moved | None:
    """waiting_for_approval → cancelled, with the reason; None when the job does not wait."""
    message = f"Rejected by {by}" + (f": {comment}" if comment else ".")
    return await db.fetch_one(REJECT, {"job_id": job_id, "by": by, "comment": comment, "message": message}, Moved)


async def expire(db: Database, *, limit: int) -> list[Moved]:
    """waiting_for_approval → cancelled, for up to `limit` jobs that nobody decided about in time."""
    return await db.fetch_all(EXPIRE, {"limit": limit}, Moved)


async def latest(db: Database, job_id: int) -> Verdict | None:
    """The newest question's verdict; None for a job that never asked."""
    return await db.fetch_one(LATEST, {"job_id": job_id}, Verdict)
