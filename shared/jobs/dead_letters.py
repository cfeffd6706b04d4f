"""Dead letters: their copies on the poison queue as the rows know them, discard, and retry in bulk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, LiteralString, Protocol

from shared.db import Database
from shared.jobs.people import AFRESH, Moved

# One row a queue, so that the counting has a memory; made when it is first asked for.
COUNTS: LiteralString = """
WITH pass AS (
    INSERT INTO poison_passes (queue) SELECT %(queue)s
    WHERE NOT EXISTS (SELECT FROM poison_passes WHERE queue = %(queue)s)
    ON CONFLICT (queue) DO NOTHING
)
SELECT (SELECT count(*) FROM jobs WHERE state = 'dead_letter' AND queue = %(queue)s AND poison_put_at IS NOT NULL)
           + coalesce((SELECT strays FROM poison_passes WHERE queue = %(queue)s), 0) AS expected,
       coalesce((SELECT is_wanted OR done_at < clock_timestamp() - %(every_s)s * interval '1 second'
                 FROM poison_passes WHERE queue = %(queue)s), true) AS is_due
"""

HOLD: LiteralString = """
UPDATE poison_passes SET held_until = clock_timestamp() + %(hold_s)s * interval '1 second', is_wanted = false,
    done_at = '-infinity'  -- a pass that comes to no end leaves the next one due
WHERE queue = %(queue)s AND held_until < clock_timestamp()
RETURNING clock_timestamp() AS began_at
"""

DONE: LiteralString = """
UPDATE poison_passes SET done_at = clock_timestamp(), strays = %(strays)s,
    held_until = clock_timestamp() + %(hidden_s)s * interval '1 second'
WHERE queue = %(queue)s
"""

# The recorded copy is kept; a copy of a dead letter that has none recorded becomes it. All else is to be deleted.
JUDGE: LiteralString = """
UPDATE jobs SET poison_message_id = copy.message_id, poison_put_at = coalesce(poison_put_at, clock_timestamp())
FROM unnest(%(job_ids)s::bigint[], %(deliveries)s::integer[], %(message_ids)s::text[])
    AS copy (job_id, delivery, message_id)
WHERE jobs.job_id = copy.job_id AND state = 'dead_letter' AND jobs.delivery = copy.delivery
  AND (poison_message_id IS NULL OR poison_message_id = copy.message_id)
RETURNING jobs.job_id, poison_message_id AS message_id
"""

# Put over twice the hiding before the pass began, and not met by it: somebody has deleted the message.
PUT_AGAIN: LiteralString = """
WITH missing AS (
    UPDATE jobs SET poison_message_id = NULL, poison_put_at = NULL
    WHERE state = 'dead_letter' AND queue = %(queue)s
      AND poison_put_at < %(began_at)s - %(settled_s)s * interval '1 second'
      AND job_id <> ALL(%(met)s::bigint[])
    RETURNING job_id, queue, delivery
), announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery) SELECT queue, 'poison', job_id, delivery FROM missing
)
SELECT job_id FROM missing
"""

DISCARD: LiteralString = """
WITH job AS (
    UPDATE jobs SET state = 'failed', discarded_by = %(by)s, discarded_at = clock_timestamp(),
        poison_message_id = NULL, poison_put_at = NULL
    WHERE job_id = %(job_id)s AND state = 'dead_letter'
    RETURNING job_id, state, queue
), wanted AS (
    UPDATE poison_passes SET is_wanted = true FROM job WHERE poison_passes.queue = job.queue
)
SELECT job_id, state FROM job
"""

# Read from the indexes of the lists alone, which is what makes an exact number cheap.
_MATCHING: LiteralString = """
SELECT job_id FROM jobs
WHERE state = %(state)s AND (kind = %(kind)s OR (%(kind)s::text IS NULL AND kind <> 'webhook'))
  AND (%(workspace_id)s::text IS NULL OR workspace_id = %(workspace_id)s)
  AND (%(error_code)s::text IS NULL OR last_error->>'code' = %(error_code)s)
"""

COUNT_MANY: LiteralString = (
    "SELECT '{}'::bigint[] AS job_ids, count(*) AS remaining FROM (" + _MATCHING + ") AS matching"
)

RETRY_MANY: LiteralString = (
    "WITH matching AS MATERIALIZED ("
    + _MATCHING
    + """
), picked AS (
    SELECT jobs.job_id FROM matching JOIN jobs ON jobs.job_id = matching.job_id AND jobs.state = %(state)s
    ORDER BY matching.job_id LIMIT %(limit)s FOR UPDATE OF jobs SKIP LOCKED
), job AS ("""
    + AFRESH
    + """
    FROM picked WHERE jobs.job_id = picked.job_id
    RETURNING jobs.job_id, queue, delivery, endpoint, run_after
), announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint, due_at)
    SELECT queue, 'work', job_id, delivery, endpoint, run_after FROM job
), wanted AS (
    UPDATE poison_passes SET is_wanted = true WHERE queue IN (SELECT queue FROM job)
)
SELECT ARRAY(SELECT job_id FROM job ORDER BY job_id) AS job_ids,
       (SELECT count(*) FROM matching) - (SELECT count(*) FROM job) AS remaining
"""
)


@dataclass(frozen=True)
class Counts:
    """How many messages the poison queue should hold, and whether a full pass is due whatever it holds."""

    expected: int
    is_due: bool


class Copy(Protocol):
    """What a message on the poison queue says it is about."""

    @property
    def job_id(self) -> int: ...

    @property
    def delivery(self) -> int: ...


@dataclass(frozen=True)
class Those:
    """Which jobs are meant; what is None does not matter, but webhooks' deliveries are meant only by their kind."""

    state: Literal["dead_letter", "failed"] = "dead_letter"
    kind: str | None = None
    workspace_id: str | None = None
    error_code: str | None = None


@dataclass(frozen=True)
class Redriven:
    """The jobs that were put back on the queue, and how many more the filter would find."""

    job_ids: list[int]
    remaining: int


async def counts(db: Database, queue: str, *, every_s: float) -> Counts:
    found = await db.fetch_one(COUNTS, {"queue": queue, "every_s": every_s}, Counts)
    if found is None:
        raise RuntimeError("a query without FROM returned no row")
    return found


async def hold(db: Database, queue: str, *, hold_s: float) -> Any:
    """Become the one that cleans this poison queue; the time the pass began, None when somebody else is at it."""
    row = await db.fetch_dict(HOLD, {"queue": queue, "hold_s": hold_s})
    return row["began_at"] if row else None


async def done(db: Database, queue: str, *, strays: int, hidden_s: float) -> None:
    """A complete pass has met everything, `strays` messages that were no job at all among it.

    No other one begins for `hidden_s` seconds: it would not see the messages that this one has taken.
    """
    await db.execute(DONE, {"queue": queue, "strays": strays, "hidden_s": hidden_s})


async def judge(db: Database, copies: Mapping[str, Copy]) -> dict[str, int]:
    """Of messages (by their id) those that are the one copy of a dead letter: message id → job_id."""
    params = {
        "job_ids": [copy.job_id for copy in copies.values()],
        "deliveries": [copy.delivery for copy in copies.values()],
        "message_ids": list(copies),
    }
    return {row["message_id"]: row["job_id"] for row in await db.fetch_dicts(JUDGE, params)}


async def put_again(db: Database, queue: str, *, began_at: Any, settled_s: float, met: list[int]) -> list[int]:
    """Order new messages for dead letters whose message has gone; their job ids."""
    params = {"queue": queue, "began_at": began_at, "settled_s": settled_s, "met": met}
    return [row["job_id"] for row in await db.fetch_dicts(PUT_AGAIN, params)]


async def discard(db: Database, job_id: int, by: str) -> Moved | None:
    """dead_letter → failed, by a person; None when the job is no dead letter."""
    return await db.fetch_one(DISCARD, {"job_id": job_id, "by": by}, Moved)


async def retry_many(db: Database, those: Those, *, limit: int) -> Redriven:
    """dead_letter or failed → queued for up to `limit` jobs, oldest first."""
    return await _redrive(db, RETRY_MANY, those, limit=limit)


async def count_many(db: Database, those: Those) -> Redriven:
    """How many jobs `retry_many` would find now; none is touched."""
    return await _redrive(db, COUNT_MANY, those)


async def _redrive(db: Database, statement: LiteralString, those: Those, **more: int) -> Redriven:
    found = await db.fetch_one(statement, asdict(those) | more, Redriven, plan_anew=True)
    if found is None:
        raise RuntimeError("an aggregate returned no row")
    return found
