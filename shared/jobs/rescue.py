"""The arrows of the sweep: a lease that ran out, and a message that was lost before anybody claimed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar

import psycopg

from shared.db import Database
from shared.log import logger

log = logger("rescue")

T = TypeVar("T")

_OVER: LiteralString = " state = 'running' AND locked_until < clock_timestamp() "

# Announced long enough ago: twice as long each time nobody came. `now()` and not the clock, so that an index can be
# asked for the first condition.
_SILENT: LiteralString = """
    state = 'queued' AND queue = %(queue)s AND announced_at < now() - %(patience_s)s * interval '1 second'
    AND announced_at < now() - interval '1 second' * least(3600, %(patience_s)s * 2 ^ least(unclaimed, 12))
"""

# For one row alone, where a batch does not get through.
_AMONG: LiteralString = " AND (%(job_ids)s::bigint[] IS NULL OR job_id = ANY(%(job_ids)s)) "

# The run is ended as of its last sign of life. A job that lost its lease before goes back with back-off and full
# jitter: it may be what kills its process, and takes the neighbours along.
LOSE: LiteralString = (
    """
WITH expired AS (
    SELECT job_id, greatest(0, extract(epoch FROM locked_until - run_started_at) - %(lease_s)s) AS lived_s
    FROM jobs WHERE"""
    + _OVER
    + _AMONG
    + """
    ORDER BY job_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), gone AS (
    UPDATE jobs SET
        state = CASE WHEN cancel_requested THEN 'cancelled' WHEN ran_s + lived_s >= deadline_s THEN 'failed'
                     WHEN attempts >= max_attempts THEN 'dead_letter' ELSE 'queued' END,
        finished_at = CASE WHEN cancel_requested OR ran_s + lived_s >= deadline_s OR attempts >= max_attempts
                      THEN clock_timestamp() END,
        delivery = delivery + 1, losses = losses + 1, ran_s = ran_s + lived_s,
        run_after = clock_timestamp() + interval '1 second' * CASE WHEN losses = 0 THEN 0
            ELSE random() * least(%(cap_s)s, %(base_s)s * 2 ^ least(losses, 60)) END,
        last_error = jsonb_build_object('at', clock_timestamp(), 'attempt', attempts) ||
            CASE WHEN NOT cancel_requested AND ran_s + lived_s >= deadline_s
            THEN '{"code": "job_timeout", "message": "The job ran longer than it may."}'::jsonb
            ELSE '{"code": "worker_lost", "message": "The worker that ran the job went away without a word."}' END,
        claim_id = NULL, run_started_at = NULL, locked_until = NULL
    FROM expired WHERE jobs.job_id = expired.job_id
    RETURNING jobs.job_id, run, state, queue, delivery, endpoint, run_after, attempts, last_error
), history AS (
    UPDATE job_runs SET ended_at = clock_timestamp(), error = gone.last_error,
        outcome = CASE gone.state WHEN 'queued' THEN 'lost' ELSE gone.state END
    FROM gone WHERE job_runs.job_id = gone.job_id AND job_runs.run = gone.run
), announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint, due_at)
    SELECT queue, CASE state WHEN 'queued' THEN 'work' ELSE 'poison' END, job_id, delivery, endpoint,
           CASE state WHEN 'queued' THEN run_after ELSE clock_timestamp() END
    FROM gone WHERE state IN ('queued', 'dead_letter')
)
SELECT job_id, state, attempts FROM gone
"""
)

_FOUND: LiteralString = """) AS is_any,
       extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8 AS database_up_s
"""

ANY_OVER: LiteralString = "SELECT EXISTS (SELECT FROM jobs WHERE" + _OVER + _FOUND
ANY_SILENT: LiteralString = "SELECT EXISTS (SELECT FROM jobs WHERE" + _SILENT + _FOUND

ALL_OVER: LiteralString = "SELECT job_id FROM jobs WHERE" + _OVER + "ORDER BY job_id LIMIT %(limit)s"
ALL_SILENT: LiteralString = "SELECT job_id FROM jobs WHERE" + _SILENT + "ORDER BY job_id LIMIT %(limit)s"

# Either nothing at all is to be seen on the queue, or a job announced 30 s later has been claimed since.
ANNOUNCE_AGAIN: LiteralString = (
    """
WITH silent AS (
    SELECT job_id FROM jobs WHERE"""
    + _SILENT
    + _AMONG
    + """
      AND (%(queue_is_empty)s OR announced_at < (
          SELECT max(announced_at) FROM job_runs WHERE queue = %(queue)s) - %(patience_s)s * interval '1 second')
    ORDER BY job_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), again AS (
    UPDATE jobs SET delivery = delivery + 1, unclaimed = unclaimed + 1, announced_at = NULL
    FROM silent WHERE jobs.job_id = silent.job_id
    RETURNING jobs.job_id, jobs.queue, jobs.delivery, jobs.endpoint, jobs.unclaimed
), announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint)
    SELECT queue, 'work', job_id, delivery, endpoint FROM again
)
SELECT job_id, unclaimed FROM again
"""
)


@dataclass(frozen=True)
class Rescued:
    """A job whose worker went away, and where it is now."""

    job_id: int
    state: str
    attempts: int


@dataclass(frozen=True)
class Announced:
    """A job announced again, and how often nobody came before."""

    job_id: int
    unclaimed: int


@dataclass(frozen=True)
class Look:
    """Whether something seems to be lost, and for how long Postgres has been up, in seconds."""

    is_any: bool
    database_up_s: float


async def look_for_leases(db: Database) -> Look:
    """Whether a lease has run out."""
    return await _look(db, ANY_OVER, {})


async def look_for_silence(db: Database, queue: str, *, patience_s: float) -> Look:
    """Whether a message has been on its way for longer than it should."""
    return await _look(db, ANY_SILENT, {"queue": queue, "patience_s": patience_s})


async def lose(db: Database, *, lease_s: float, base_s: float, cap_s: float, limit: int) -> list[Rescued]:
    """running → queued, dead_letter, failed (deadline) or cancelled, for up to `limit` jobs whose lease ran out."""
    params = {"lease_s": lease_s, "base_s": base_s, "cap_s": cap_s, "limit": limit}
    return await _batch(db, LOSE, ALL_OVER, params, Rescued)


async def announce_again(
    db: Database, queue: str, *, queue_is_empty: bool, patience_s: float, limit: int
) -> list[Announced]:
    """queued → queued under a new number, for up to `limit` jobs whose message must be lost."""
    params = {"queue": queue, "queue_is_empty": queue_is_empty, "patience_s": patience_s, "limit": limit}
    return await _batch(db, ANNOUNCE_AGAIN, ALL_SILENT, params, Announced)


async def _look(db: Database, query: LiteralString, params: Mapping[str, Any]) -> Look:
    found = await db.fetch_one(query, params, Look)
    if found is None:
        raise RuntimeError("a query without FROM returned no row")
    return found


async def _batch(
    db: Database, arrow: LiteralString, candidates: LiteralString, params: dict[str, Any], row: type[T]
) -> list[T]:
    """Send the arrow at all it fits in one statement; where a row spoils that, at one row a statement."""
    try:
        return await db.fetch_all(arrow, params | {"job_ids": None}, row)
    except psycopg.Error:
        log.exception("a batch does not get through; its rows are taken one by one")
    moved: list[T] = []
    for found in await db.fetch_dicts(candidates, params):
        try:
            moved += await db.fetch_all(arrow, params | {"job_ids": [found["job_id"]]}, row)
        except psycopg.Error:
            log.exception("job %d cannot be moved", found["job_id"])
    return moved
