"""Rows that nobody needs any more, deleted in small batches so that no request waits for it."""

from __future__ import annotations

from typing import LiteralString

from shared.db import Database
from shared.log import logger

log = logger("cleaning")

BATCH = 500
BATCHES = 20  # a pass; the rest is for the next one

# `now()` and not the clock, so that an index can be asked.
EXPIRED_KEYS: LiteralString = """
DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency_keys WHERE expires_at < now() ORDER BY expires_at LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED))
"""

# The runs of jobs that ended over 90 days ago; the jobs themselves stay.
OLD_RUNS: LiteralString = """
DELETE FROM job_runs WHERE ctid = ANY(ARRAY(
    SELECT job_runs.ctid FROM job_runs JOIN jobs USING (job_id)
    WHERE job_runs.started_at < now() - interval '90 days' AND jobs.finished_at IS NOT NULL
    ORDER BY job_runs.started_at LIMIT %(limit)s))
"""


async def clean(db: Database) -> None:
    """Delete expired idempotency keys and old history."""
    for statement in (EXPIRED_KEYS, OLD_RUNS):
        for _ in range(BATCHES):
            deleted = await db.execute(statement, {"limit": BATCH})
            if deleted:
                log.info("deleted %d rows that nobody needs any more", deleted)
            if deleted < BATCH:
                break
