"""The arrow queued → running, and what a running job's owner does before it leaves: save steps, extend the lease."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from shared.db import Database
from shared.names import ticket_name

SAVED_STEPS: LiteralString = """
    coalesce((SELECT jsonb_object_agg(name, output) FROM job_steps
              WHERE job_steps.job_id = claimed.job_id AND job_steps.state = 'succeeded'), '{}') AS saved
"""

# Since the first attempt of the present budget: a person's retry starts a new one.
_AGE: LiteralString = """
    coalesce(extract(epoch FROM clock_timestamp() - (
        SELECT started_at FROM job_runs WHERE job_runs.job_id = claimed.job_id
        AND job_runs.run = claimed.run - claimed.attempts + 1)), 0)::float8 AS age_s,
"""

CLAIM: LiteralString = (
    """
WITH before AS (
    SELECT announced_at FROM jobs WHERE job_id = %(job_id)s
), claimed AS (
    UPDATE jobs SET state = 'running', attempts = attempts + 1, run = run + 1, claim_id = %(claim_id)s,
        run_started_at = clock_timestamp(), locked_until = clock_timestamp() + %(lease_s)s * interval '1 second',
        started_at = coalesce(started_at, clock_timestamp()), announced_at = NULL, unclaimed = 0
    WHERE job_id = %(job_id)s AND delivery = %(delivery)s AND state = 'queued'
    RETURNING *
), history AS (
    INSERT INTO job_runs (job_id, run, attempt, queue, announced_at)
    SELECT job_id, run, attempts, queue, before.announced_at FROM claimed, before
)
SELECT job_id, run, kind, ticket_id, workspace_id, actor, input, attempts, max_attempts, deadline_s, ran_s,
       cancel_requested, wants_approval, request_id, traceparent,
"""
    + _AGE
    + SAVED_STEPS
    + "FROM claimed"
)

# A claim whose answer was lost is found again by the id that its worker made up.
CLAIMED_BEFORE: LiteralString = (
    """
SELECT job_id, run, kind, ticket_id, workspace_id, actor, input, attempts, max_attempts, deadline_s, ran_s,
       cancel_requested, wants_approval, request_id, traceparent,
"""
    + _AGE
    + SAVED_STEPS
    + "FROM jobs AS claimed WHERE job_id = %(job_id)s AND claim_id = %(claim_id)s AND state = 'running'"
)

PRESENT: LiteralString = "SELECT state, delivery FROM jobs WHERE job_id = %(job_id)s"

START_STEP: LiteralString = """
INSERT INTO job_steps (job_id, name, position, state, started_at, detail)
SELECT job_id, %(name)s, %(position)s, 'running', clock_timestamp(), %(detail)s FROM jobs
WHERE job_id = %(job_id)s AND run = %(run)s AND state = 'running'
ON CONFLICT (job_id, name) DO UPDATE SET state = 'running', started_at = clock_timestamp(), detail = excluded.detail
    WHERE job_steps.state <> 'succeeded'
"""

# The update of the job's row is the fence: it waits for a sweep that is taking the job away, and then finds no row.
SAVE_STEP: LiteralString = """
WITH mine AS (
    UPDATE jobs SET endpoint = %(endpoint)s, chat_calls_left = %(chat_calls)s,
                    progress = greatest(progress, %(progress)s)
    WHERE job_id = %(job_id)s AND run = %(run)s AND state = 'running'
    RETURNING job_id
), saved AS (
    INSERT INTO job_steps (job_id, name, position, state, started_at, finished_at, output)
    SELECT job_id, %(name)s, %(position)s, 'succeeded', clock_timestamp(), clock_timestamp(), %(output)s FROM mine
    ON CONFLICT (job_id, name) DO UPDATE
        SET state = 'succeeded', finished_at = clock_timestamp(), output = excluded.output
        WHERE job_steps.state <> 'succeeded'
), planned AS (
    INSERT INTO job_steps (job_id, name, position, state, detail)
    SELECT job_id, step.name, step.position, 'pending', step.detail
    FROM mine, unnest(%(planned)s::text[], %(positions)s::integer[], %(details)s::text[])
        AS step (name, position, detail)
    ON CONFLICT (job_id, name) DO NOTHING
)
SELECT job_id FROM mine
"""

EXTEND: LiteralString = """
UPDATE jobs SET locked_until = clock_timestamp() + %(lease_s)s * interval '1 second'
FROM unnest(%(job_ids)s::bigint[], %(runs)s::integer[]) AS mine (job_id, run)
WHERE jobs.job_id = mine.job_id AND jobs.run = mine.run AND jobs.state = 'running'
RETURNING jobs.job_id, jobs.run, jobs.cancel_requested
"""


@dataclass(frozen=True)
class Claim:
    """A job in the hands of this worker; `saved` has the output of every step that an earlier run finished."""

    job_id: int
    run: int
    kind: str
    ticket_id: int | None
    workspace_id: str
    actor: str
    input: dict[str, Any]
    attempts: int
    max_attempts: int
    deadline_s: float
    ran_s: float
    cancel_requested: bool
    wants_approval: bool
    request_id: str | None
    traceparent: str | None
    age_s: float = field(compare=False)
    saved: dict[str, Any]

    @property
    def fence(self) -> dict[str, int]:
        """What every statement of this run must name."""
        return {"job_id": self.job_id, "run": self.run}

    @property
    def facts(self) -> dict[str, str | int | None]:
        """What lines and spans of this run tell."""
        return {
            **self.fence,
            "attempt": self.attempts,
            "kind": self.kind,
            "ticket_id": ticket_name(self.ticket_id),
            "request_id": self.request_id,
        }


@dataclass(frozen=True)
class Present:
    """The job's row as a message finds it."""

    state: str
    delivery: int


@dataclass(frozen=True)
class Beat:
    """A run whose lease was extended, and whether somebody asked for its end."""

    job_id: int
    run: int
    cancel_requested: bool


@dataclass(frozen=True)
class Needs:
    """How far a job is (0–100), which endpoint its next step calls, how many chat calls it still has before it, and
    the steps that it is known to need: names, positions and lines for people."""

    progress: int
    endpoint: str | None
    chat_calls: int
    planned: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    details: list[str | None] = field(default_factory=list)


async def claim(db: Database, job_id: int, delivery: int, claim_id: UUID, *, lease_s: float) -> Claim | None:
    """Take the job if it is queued under this delivery; sent again with the same `claim_id` it finds its own claim."""
    params = {"job_id": job_id, "delivery": delivery, "claim_id": claim_id, "lease_s": lease_s}
    return await db.fetch_one(CLAIM, params, Claim) or await db.fetch_one(CLAIMED_BEFORE, params, Claim)


async def present(db: Database, job_id: int) -> Present | None:
    """How the row stands for a message that could not claim it; None for an unknown job."""
    return await db.fetch_one(PRESENT, {"job_id": job_id}, Present)


async def start_step(db: Database, claim: Claim, name: str, position: int, detail: str | None = None) -> None:
    """Note that a step has begun; of use to people only, so a job that was lost meanwhile is no concern here."""
    await db.execute(START_STEP, claim.fence | {"name": name, "position": position, "detail": detail})


async def save_step(
    db: Database,
    claim: Claim,
    name: str,
    position: int,
    output: object,
    needs: Needs,
) -> bool:
    """Save a finished step's output and what the job needs next; False when the job is no longer this run's."""
    params = claim.fence | {
        "name": name,
        "position": position,
        "output": Jsonb(output),
        **asdict(needs),
    }
    return await db.fetch_dict(SAVE_STEP, params) is not None


async def extend(db: Database, runs: list[tuple[int, int]], *, lease_s: float) -> list[Beat]:
    """Extend the leases of (job_id, run) pairs in one statement; a pair that is missing in the answer is lost."""
    params = {"job_ids": [job for job, _ in runs], "runs": [run for _, run in runs], "lease_s": lease_s}
    return await db.fetch_all(EXTEND, params, Beat)
