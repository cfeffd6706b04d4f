"""The arrows that a person or a caller sends: cancel, retry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from shared.db import Database

# Both at once: between two statements the job could move from what the second one refuses to what the first one takes.
CANCEL: LiteralString = """
WITH job AS (
    UPDATE jobs SET cancel_requested = cancel_requested OR state = 'running', announced_at = NULL,
        finished_at = CASE WHEN state = 'running' THEN NULL ELSE clock_timestamp() END,
        state = CASE WHEN state = 'running' THEN 'running' ELSE 'cancelled' END
    WHERE job_id = %(job_id)s
      AND (state IN ('queued', 'waiting_for_approval') OR (state = 'running' AND kind = ANY(%(stoppable)s::text[])))
    RETURNING job_id, state
), decided AS (
    UPDATE approvals SET state = 'cancelled', decided_at = clock_timestamp()
    FROM job WHERE approvals.job_id = job.job_id AND approvals.state = 'waiting'
)
SELECT job_id, state FROM job
"""

# What a job starts again with; its saved steps stay.
AFRESH: LiteralString = """
    UPDATE jobs SET state = 'queued', delivery = delivery + 1, run_after = clock_timestamp(), finished_at = NULL,
        attempts = 0, ran_s = 0, losses = 0, unclaimed = 0, cancel_requested = false, announced_at = NULL,
        poison_message_id = NULL, poison_put_at = NULL,
        discarded_by = NULL, discarded_at = NULL
"""

_ANNOUNCE: LiteralString = """
    RETURNING job_id, state, queue, delivery, endpoint, run_after
), announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint, due_at)
    SELECT queue, 'work', job_id, delivery, endpoint, run_after FROM job
), wanted AS (
    UPDATE poison_passes SET is_wanted = true FROM job WHERE poison_passes.queue = job.queue
)
SELECT job_id, state FROM job
"""

RETRY: LiteralString = (
    "WITH job AS (" + AFRESH + "WHERE job_id = %(job_id)s AND state IN ('dead_letter', 'failed')" + _ANNOUNCE
)

RETRY_BY_MESSAGE: LiteralString = (
    "WITH job AS ("
    + AFRESH
    + "WHERE job_id = %(job_id)s AND state = 'dead_letter' AND delivery = %(delivery)s"
    + _ANNOUNCE
)


@dataclass(frozen=True)
class Moved:
    """A job that took the arrow."""

    job_id: int
    state: str


async def cancel(db: Database, job_id: int, stoppable: Sequence[str] = ()) -> Moved | None:
    """queued or waiting_for_approval → cancelled; the worker of a running job is asked to stop if its kind is one of
    `stoppable`. None when neither can be."""
    return await db.fetch_one(CANCEL, {"job_id": job_id, "stoppable": list(stoppable)}, Moved)


async def retry(db: Database, job_id: int) -> Moved | None:
    """dead_letter or failed → queued with a fresh budget, saved steps kept; None when the job is in neither state."""
    return await db.fetch_one(RETRY, {"job_id": job_id}, Moved)


async def retry_by_message(db: Database, job_id: int, delivery: int) -> Moved | None:
    """The same, asked for by a poison message that an operator put back on the work queue."""
    return await db.fetch_one(RETRY_BY_MESSAGE, {"job_id": job_id, "delivery": delivery}, Moved)
