"""The outbox table: rows that arrows leave behind, taken here, put on a queue by the relay, and deleted.

A taken row is the taker's for 10 s; after that another pass may take it, so a crash between put and delete sends a
message twice and never loses one. No transaction is open across a put.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString

from psycopg.rows import class_row

from shared.db import Connection, Database
from shared.provider.lane import FORECAST, Lane

Purpose = Literal["work", "poison"]

NO_LIMIT = 1_000_000

# Whose outstanding calls count before a queue's jobs are announced: tickets come first.
COUNTED = {"tickets": ["tickets"], "reports": ["tickets", "reports"], "webhooks": ["webhooks"]}

# Jobs that are running, announced, or just being announced: what quota, trials and shares are already promised to.
_PROMISED: LiteralString = """
    SELECT queue, endpoint, share, chat_calls_left FROM jobs WHERE state = 'running'
    UNION ALL
    SELECT queue, endpoint, share, chat_calls_left FROM jobs WHERE state = 'queued' AND announced_at IS NOT NULL
    UNION ALL
    SELECT queue, endpoint, share, chat_calls_left FROM jobs WHERE state = 'queued' AND announced_at IS NULL
        AND job_id IN (SELECT job_id FROM outbox WHERE claimed_until > statement_timestamp() AND purpose = 'work')
"""

# A long job counts for as many calls as it can make at once.
_OUTSTANDING: LiteralString = """
    SELECT coalesce(sum(least(chat_calls_left, 4)), 0) AS calls FROM promised WHERE queue = ANY(%(counted)s)
"""

# How many jobs whose next step needs an endpoint may be announced: none while its breaker is open, one when it may
# make its trial, else any number.
_ENDPOINT_ROOM: LiteralString = """
    SELECT endpoint, CASE WHEN NOT is_open THEN 1000000
        WHEN retry_at > clock_timestamp() OR trial_until > clock_timestamp()
            OR endpoint IN (SELECT endpoint FROM promised) THEN 0
        ELSE 1 END AS jobs FROM provider_breakers
"""

# Due rows, and for each what stands before it: the calls, and the jobs that need the same endpoint or share.
_ADMITTED: LiteralString = (
    """
), ranked AS (
    SELECT fitting.*, coalesce(sum(least(chat_calls_left, 4)) OVER earlier, 0) AS calls_before,
           row_number() OVER (PARTITION BY endpoint ORDER BY due_at, job_id) AS same_endpoint,
           row_number() OVER (PARTITION BY share ORDER BY due_at, job_id)
               + coalesce((SELECT busy.jobs FROM busy WHERE busy.share = fitting.share), 0) AS same_share
    FROM fitting WINDOW earlier AS (ORDER BY due_at, job_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), lane AS ("""
    + FORECAST
    + "), outstanding AS ("
    + _OUTSTANDING
    + "), room AS ("
    + _ENDPOINT_ROOM
    + """), admitted AS (
    SELECT ranked.outbox_id FROM ranked LEFT JOIN room ON room.endpoint = ranked.endpoint
    WHERE same_endpoint <= coalesce(room.jobs, 1000000)
      AND (share IS NULL OR same_share <= %(share_limit)s)
      AND (chat_calls_left = 0 OR calls_before + (TABLE outstanding) < (SELECT calls FROM lane)
           OR (share IS NOT NULL AND same_share = 1))  -- one of those who yield is always let in
    ORDER BY ranked.due_at, ranked.job_id LIMIT %(limit)s
)
"""
)

# The first rows for each endpoint, so that those which its breaker or the lane holds back hide no others; and none of
# a share that is used up. The statement's time and not the clock's, so that an index can be asked.
_FREE: LiteralString = (
    "WITH promised AS ("
    + _PROMISED
    + """), busy AS (
    SELECT share, count(*) AS jobs FROM promised WHERE share IS NOT NULL GROUP BY share
), due AS (
    SELECT row.* FROM (VALUES ('chat'), ('embeddings'), ('')) AS next (endpoint), LATERAL (
        SELECT outbox_id, outbox.job_id, outbox.delivery, due_at, share FROM outbox JOIN jobs USING (job_id)
        WHERE outbox.queue = %(queue)s AND purpose = %(purpose)s AND due_at <= statement_timestamp()
          AND coalesce(outbox.endpoint, '') = next.endpoint
          AND (claimed_until IS NULL OR claimed_until < clock_timestamp())
          AND (share IS NULL OR %(purpose)s = 'poison'
               OR share NOT IN (SELECT busy.share FROM busy WHERE busy.jobs >= %(share_limit)s))
        ORDER BY due_at, outbox.job_id LIMIT %(limit)s
"""
)

_FITTING: LiteralString = """
    ) AS row
), fitting AS (
    SELECT due.outbox_id, due.job_id, due.due_at, due.share, jobs.chat_calls_left, jobs.endpoint
    FROM due JOIN jobs ON jobs.job_id = due.job_id AND jobs.delivery = due.delivery
        AND jobs.state = CASE %(purpose)s WHEN 'work' THEN 'queued' ELSE 'dead_letter' END
"""

_CLAIM: LiteralString = """
, out_of_date AS (
    DELETE FROM outbox USING due
    WHERE outbox.outbox_id = due.outbox_id AND due.outbox_id NOT IN (SELECT outbox_id FROM fitting)
), taken AS (
    UPDATE outbox SET claimed_until = clock_timestamp() + interval '10 seconds'
    WHERE outbox_id IN (SELECT outbox_id FROM admitted)
    RETURNING outbox_id, job_id, delivery, attempts AS puts, due_at
)
SELECT taken.outbox_id, taken.job_id, taken.delivery, taken.puts, jobs.kind, jobs.ticket_id, jobs.attempts,
       jobs.last_error, jobs.finished_at, jobs.request_id, jobs.traceparent
FROM taken JOIN jobs ON jobs.job_id = taken.job_id
ORDER BY taken.due_at, taken.job_id
"""

# One forecaster at a time. The lock has to be had in a statement before the one that counts: in one statement, two
# relays see the same snapshot and both fill the same room.
ONE_FORECASTER: LiteralString = "SELECT pg_advisory_xact_lock(hashtext('larkfield.lane'))"

_LOCKED: LiteralString = "FOR UPDATE OF outbox SKIP LOCKED"

_ALL_ADMITTED: LiteralString = """
), admitted AS (SELECT outbox_id FROM fitting ORDER BY due_at, job_id LIMIT %(limit)s)
"""

TAKE_WORK: LiteralString = _FREE + _LOCKED + _FITTING + _ADMITTED + _CLAIM
TAKE_POISON: LiteralString = _FREE + _LOCKED + _FITTING + _ALL_ADMITTED + _CLAIM

# What could be on its queue by now: all that the lane would let through, and what a pass has taken and not finished.
PENDING: LiteralString = (
    _FREE
    + _FITTING
    + _ADMITTED
    + """
SELECT count(*) AS letters, coalesce(extract(epoch FROM clock_timestamp() - min(due_at)), 0)::float8 AS oldest_s
FROM outbox WHERE outbox_id IN (
    SELECT outbox_id FROM admitted
    UNION SELECT outbox_id FROM outbox WHERE queue = %(queue)s AND claimed_until IS NOT NULL
    UNION SELECT outbox_id FROM outbox
        WHERE queue = %(queue)s AND purpose = 'poison' AND due_at <= statement_timestamp()
)
"""
)

HELD: LiteralString = """
SELECT EXISTS (SELECT FROM outbox WHERE queue = %(queue)s AND purpose = 'work' AND due_at <= statement_timestamp()
               AND claimed_until IS NULL) AS is_held
"""

SENT: LiteralString = """
WITH gone AS (
    DELETE FROM outbox WHERE outbox_id = ANY(%(outbox_ids)s::bigint[]) RETURNING job_id, delivery
)
UPDATE jobs SET announced_at = clock_timestamp()
FROM gone WHERE jobs.job_id = gone.job_id AND jobs.delivery = gone.delivery AND jobs.state = 'queued'
"""

POISON_SENT: LiteralString = """
WITH gone AS (
    DELETE FROM outbox WHERE outbox_id = %(outbox_id)s RETURNING job_id, delivery
)
UPDATE jobs SET poison_message_id = %(message_id)s, poison_put_at = clock_timestamp()
FROM gone WHERE jobs.job_id = gone.job_id AND jobs.delivery = gone.delivery AND jobs.state = 'dead_letter'
"""

REFUSED: LiteralString = """
UPDATE outbox SET attempts = attempts + 1, last_error = %(error)s, claimed_until = NULL,
                  due_at = clock_timestamp() + %(wait_s)s * interval '1 second'
WHERE outbox_id = %(outbox_id)s
"""

UNDELIVERABLE: LiteralString = """
WITH gone AS (
    DELETE FROM outbox WHERE outbox_id = %(outbox_id)s RETURNING job_id, delivery
)
UPDATE jobs SET state = 'failed', finished_at = clock_timestamp(), last_error = jsonb_build_object(
    'code', 'undeliverable', 'message', %(error)s::text, 'at', clock_timestamp(), 'attempt', attempts)
FROM gone WHERE jobs.job_id = gone.job_id AND jobs.delivery = gone.delivery AND jobs.state = 'queued'
RETURNING jobs.job_id
"""

NEXT_DUE: LiteralString = """
SELECT extract(epoch FROM min(greatest(due_at, coalesce(claimed_until, due_at))) - clock_timestamp())::float8 AS wait_s
FROM outbox WHERE queue = %(queue)s AND purpose = %(purpose)s
  AND due_at < statement_timestamp() + %(within_s)s * interval '1 second'
"""


@dataclass(frozen=True)
class Letter:
    """A row to put, with what its message says about the job."""

    outbox_id: int
    job_id: int
    delivery: int
    puts: int
    kind: str
    ticket_id: int | None
    attempts: int
    last_error: dict[str, Any] | None
    finished_at: datetime | None
    request_id: str | None
    traceparent: str | None


@dataclass(frozen=True)
class Pending:
    """How many rows wait to be put, and for how long the oldest has, in seconds."""

    letters: int
    oldest_s: float


def _params(queue: str, lane: Lane, *, share_limit: int, limit: int) -> dict[str, Any]:
    return {
        **asdict(lane.limits),
        "queue": queue,
        "purpose": "work",
        "limit": limit,
        "counted": COUNTED[queue],
        "share_limit": share_limit,
    }


async def take_work(db: Database, queue: str, lane: Lane, *, limit: int, share_limit: int = NO_LIMIT) -> list[Letter]:
    """Take up to `limit` due announcements for 10 s, in order, as many as the provider can serve soon.

    At most `share_limit` jobs of the same share are under way. Rows that are out of date are deleted. Tickets count
    only tickets' outstanding calls, reports count all.
    """
    params = _params(queue, lane, share_limit=share_limit, limit=limit)

    async def work(connection: Connection) -> list[Letter]:
        async with connection.cursor(row_factory=class_row(Letter)) as cursor:
            await cursor.execute(ONE_FORECASTER)
            await cursor.execute(TAKE_WORK, params)
            return await cursor.fetchall()

    return await db.run(work, in_transaction=True)


async def pending(db: Database, queue: str, lane: Lane, *, share_limit: int = NO_LIMIT) -> Pending:
    """What waits for a pass, not counting what the lane holds back (exact to 1,000)."""
    found = await db.fetch_one(PENDING, _params(queue, lane, share_limit=share_limit, limit=1000), Pending)
    if found is None:
        raise RuntimeError("an aggregate returned no row")
    return found


async def take_poison(db: Database, queue: str, *, limit: int) -> list[Letter]:
    """Take up to `limit` due dead letters for 10 s."""
    params = {"queue": queue, "purpose": "poison", "limit": limit, "share_limit": 0}
    return await db.fetch_all(TAKE_POISON, params, Letter)


async def is_held(db: Database, queue: str) -> bool:
    """Whether announcements are due that the lane holds back."""
    row = await db.fetch_dict(HELD, {"queue": queue})
    return bool(row and row["is_held"])


async def sent(db: Database, letters: list[Letter]) -> None:
    """The put is done: delete the rows and note on the jobs that they are announced."""
    await db.execute(SENT, {"outbox_ids": [letter.outbox_id for letter in letters]})


async def poison_sent(db: Database, letter: Letter, message_id: str) -> None:
    """The same for a dead letter; its message's id stays with the job, so that copies can be told from it."""
    await db.execute(POISON_SENT, {"outbox_id": letter.outbox_id, "message_id": message_id})


async def refused(db: Database, letter: Letter, error: str, *, wait_s: float) -> None:
    """The queue does not want this message: try again in `wait_s` seconds."""
    await db.execute(REFUSED, {"outbox_id": letter.outbox_id, "error": error, "wait_s": wait_s})


async def undeliverable(db: Database, letter: Letter, error: str) -> bool:
    """queued → failed: the message can never be sent. Whether the job still waited for it."""
    return await db.fetch_dict(UNDELIVERABLE, {"outbox_id": letter.outbox_id, "error": error}) is not None


async def next_due_s(db: Database, queue: str, purpose: Purpose, *, within_s: float) -> float | None:
    """Seconds until the next row of the next `within_s` seconds becomes due; None when there is none."""
    row = await db.fetch_dict(NEXT_DUE, {"queue": queue, "purpose": purpose, "within_s": within_s})
    return None if row is None or row["wait_s"] is None else max(0.0, row["wait_s"])
