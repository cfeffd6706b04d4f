"""The arrows out of running, as the worker that holds the claim sends them.

All share their second half: close the run's history row and, where the new state needs a message, leave the outbox
row. Each returns None when the job is no longer this run's. A job whose `cancel_requested` is set ends as cancelled
instead of going back to the queue or to the dead letters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from shared import artifacts
from shared.artifacts import KEEP, Artifact
from shared.db import Database
from shared.jobs.claim import Claim
from shared.jobs.states import GivenBack, JobError

# Waiting for the quota or the database is not running time.
_LEAVE: LiteralString = """
    claim_id = NULL, run_started_at = NULL, locked_until = NULL,
    ran_s = ran_s + greatest(0, extract(epoch FROM clock_timestamp() - run_started_at) - %(waited_s)s)
WHERE job_id = %(job_id)s AND run = %(run)s AND state = 'running'
"""

_ERROR: LiteralString = """
    CASE WHEN %(code)s::text IS NOT NULL THEN jsonb_strip_nulls(jsonb_build_object('code', %(code)s::text,
        'message', %(message)s::text, 'status', %(status)s::integer, 'at', clock_timestamp(), 'attempt', attempts)) END
"""

_REST: LiteralString = """
    RETURNING job_id, run, state, queue, delivery, endpoint, run_after, ticket_id, result, last_error
), history AS (
    UPDATE job_runs SET ended_at = clock_timestamp(), error = CASE WHEN %(code)s::text IS NOT NULL
        THEN gone.last_error END,
        outcome = CASE gone.state WHEN 'queued' THEN %(outcome)s ELSE gone.state END
    FROM gone WHERE job_runs.job_id = gone.job_id AND job_runs.run = gone.run
), announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint, due_at)
    SELECT queue, CASE state WHEN 'queued' THEN 'work' ELSE 'poison' END, job_id, delivery, endpoint,
           CASE state WHEN 'queued' THEN run_after ELSE clock_timestamp() END
    FROM gone WHERE state IN ('queued', 'dead_letter')
)
"""

_ANSWER: LiteralString = """
SELECT state, greatest(0, extract(epoch FROM run_after - clock_timestamp()))::float8 AS wait_s FROM gone
"""

# A job that is done needs its steps' times, not what they handed on.
_SUCCEED_HEAD: LiteralString = (
    """
WITH gone AS (
    UPDATE jobs SET state = 'succeeded', result = %(result)s, progress = 100, finished_at = clock_timestamp(),
        last_error = NULL, endpoint = NULL, chat_calls_left = 0,"""
    + _LEAVE
    + _REST
    + """, handed_on AS (
    UPDATE job_steps SET output = NULL FROM gone WHERE job_steps.job_id = gone.job_id
)"""
)

WAIT: LiteralString = (
    """
WITH gone AS (
    UPDATE jobs SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'waiting_for_approval' END,
        finished_at = CASE WHEN cancel_requested THEN clock_timestamp() END, attempts = attempts - 1,"""
    + _LEAVE
    + _REST
    + """, question AS (
    INSERT INTO approvals (job_id, step, expires_at)
    SELECT job_id, %(step)s, clock_timestamp() + %(ttl_s)s * interval '1 second' FROM gone
    WHERE state = 'waiting_for_approval'
)"""
    + KEEP
    + _ANSWER
)

FAIL: LiteralString = (
    """
WITH gone AS (
    UPDATE jobs SET state = 'failed', finished_at = clock_timestamp(), last_error = """
    + _ERROR
    + ","
    + _LEAVE
    + _REST
    + _ANSWER
)

_BACK_OR_CANCELLED: LiteralString = """
    state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
    finished_at = CASE WHEN cancel_requested THEN clock_timestamp() END,
    delivery = delivery + 1,
"""

RETRY_LATER: LiteralString = (
    """
WITH gone AS (
    UPDATE jobs SET """
    + _BACK_OR_CANCELLED
    + "run_after = clock_timestamp() + %(wait_s)s * interval '1 second', last_error = "
    + _ERROR
    + ","
    + _LEAVE
    + _REST
    + _ANSWER
)

# Without a wait it keeps its place in line: lane and breakers hold it back as long as they must, and none that came
# later passes a job that has begun.
GIVE_BACK: LiteralString = (
    """
WITH gone AS (
    UPDATE jobs SET attempts = attempts - 1,"""
    + _BACK_OR_CANCELLED
    + """run_after = CASE WHEN %(wait_s)s > 0 THEN clock_timestamp() + %(wait_s)s * interval '1 second'
                ELSE run_after END,
    last_error = coalesce("""
    + _ERROR
    + ", last_error),"
    + _LEAVE
    + _REST
    + _ANSWER
)

DEAD_LETTER: LiteralString = (
    """
WITH gone AS (
    UPDATE jobs SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'dead_letter' END,
        finished_at = clock_timestamp(), delivery = delivery + 1, last_error = """
    + _ERROR
    + ","
    + _LEAVE
    + _REST
    + _ANSWER
)

HOW_IT_ENDED: LiteralString = """
SELECT outcome FROM job_runs WHERE job_id = %(job_id)s AND run = %(run)s AND ended_at IS NOT NULL
"""


@dataclass(frozen=True)
class Left:
    """Where the job went, and in how many seconds it may run again if that is `queued`."""

    state: str
    wait_s: float


def _params(claim: Claim, waited_s: float, error: JobError | None, **more: Any) -> dict[str, Any]:
    return claim.fence | {
        "waited_s": waited_s,
        "code": error.code if error else None,
        "message": error.message if error else None,
        "status": error.status if error else None,
        "outcome": None,
        "wait_s": 0.0,
        **more,
    }


async def succeed(
    db: Database,
    claim: Claim,
    result: dict[str, Any],
    *,
    publish: LiteralString,
    waited_s: float,
    files: tuple[Artifact, ...] = (),
) -> Left | None:
    """running → succeeded, with the result, the artifacts and what the kind shows the world (`publish`: a CTE over
    `gone`)."""
    query: LiteralString = _SUCCEED_HEAD + (KEEP if files else "") + publish + _ANSWER
    more = {"result": Jsonb(result), **(artifacts.params(files) if files else {})}
    return await db.fetch_one(query, _params(claim, waited_s, None, **more), Left)


async def wait_for_approval(
    db: Database, claim: Claim, step: str, files: tuple[Artifact, ...], *, ttl_s: float, waited_s: float
) -> Left | None:
    """running → waiting_for_approval, with the preview; the question is open for `ttl_s` seconds. No attempt is lost,
    no lease and no message is left behind."""
    more = {"step": step, "ttl_s": ttl_s, **artifacts.params(files)}
    return await db.fetch_one(WAIT, _params(claim, waited_s, None, **more), Left)


async def fail(db: Database, claim: Claim, error: JobError, *, waited_s: float) -> Left | None:
    """running → failed: no retry can help."""
    return await db.fetch_one(FAIL, _params(claim, waited_s, error), Left)


async def retry_later(db: Database, claim: Claim, error: JobError, *, wait_s: float, waited_s: float) -> Left | None:
    """running → queued in `wait_s` seconds; the attempt counts."""
    return await db.fetch_one(RETRY_LATER, _params(claim, waited_s, error, wait_s=wait_s, outcome="retry"), Left)


async def give_back(
    db: Database,
    claim: Claim,
    reason: GivenBack,
    *,
    wait_s: float,
    waited_s: float,
    error: JobError | None = None,
) -> Left | None:
    """running → queued without losing the attempt: the job is not to blame.

    In `wait_s` seconds, or with 0 at its old place in line.
    """
    return await db.fetch_one(GIVE_BACK, _params(claim, waited_s, error, wait_s=wait_s, outcome=reason), Left)


async def dead_letter(db: Database, claim: Claim, error: JobError, *, waited_s: float) -> Left | None:
    """running → dead_letter: the last attempt is gone; a readable message goes to the poison queue."""
    return await db.fetch_one(DEAD_LETTER, _params(claim, waited_s, error), Left)


async def how_it_ended(db: Database, claim: Claim) -> str | None:
    """The outcome in this run's history row; None while it is open."""
    row = await db.fetch_dict(HOW_IT_ENDED, claim.fence)
    return row["outcome"] if row else None
