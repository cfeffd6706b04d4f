"""The outbox table: rows that arrows leave behind, taken here, put on a queue by the relay, and deleted.

A taken row is the taker's for 10 s; after that another pass may take it, so a crash between put and delete sends a
message twice and never loses one. No transaction is open across a put.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString

from shared.db import Database
from shared.queues import PutReceipt

Purpose = Literal["work", "poison"]

TAKE: LiteralString = """
WITH due AS (
    SELECT outbox_id, job_id, delivery FROM outbox
    WHERE queue = %(queue)s AND purpose = %(purpose)s AND due_at <= clock_timestamp()
      AND (claimed_until IS NULL OR claimed_until < clock_timestamp())
    ORDER BY due_at, job_id LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), fitting AS (
    SELECT due.outbox_id FROM due JOIN jobs ON jobs.job_id = due.job_id AND jobs.delivery = due.delivery
        AND jobs.state = CASE %(purpose)s WHEN 'work' THEN 'queued' ELSE 'dead_letter' END
), out_of_date AS (
    DELETE FROM outbox USING due
    WHERE outbox.outbox_id = due.outbox_id AND due.outbox_id NOT IN (SELECT outbox_id FROM fitting)
), taken AS (
    UPDATE outbox SET claimed_until = clock_timestamp() + interval '10 seconds'
    FROM fitting WHERE outbox.outbox_id = fitting.outbox_id
    RETURNING outbox.outbox_id, outbox.job_id, outbox.delivery, outbox.attempts AS puts, outbox.due_at
)
SELECT taken.outbox_id, taken.job_id, taken.delivery, taken.puts, jobs.kind, jobs.ticket_id, jobs.attempts,
       jobs.last_error, jobs.finished_at, jobs.request_id, jobs.traceparent
FROM taken JOIN jobs ON jobs.job_id = taken.job_id
ORDER BY taken.due_at, taken.job_id
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
UPDATE jobs SET poison_message_id = %(message_id)s, poison_receipt = %(pop_receipt)s, poison_put_at = clock_timestamp()
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
  AND due_at < clock_timestamp() + %(within_s)s * interval '1 second'
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


async def take(db: Database, queue: str, purpose: Purpose, *, limit: int) -> list[Letter]:
    """Take up to `limit` due rows for 10 s, in order of their due time; rows that are out of date are deleted."""
    return await db.fetch_all(TAKE, {"queue": queue, "purpose": purpose, "limit": limit}, Letter)


async def sent(db: Database, letters: list[Letter]) -> None:
    """The put is done: delete the rows and note on the jobs that they are announced."""
    await db.execute(SENT, {"outbox_ids": [letter.outbox_id for letter in letters]})


async def poison_sent(db: Database, letter: Letter, receipt: PutReceipt) -> None:
    """The same for a dead letter; its message's id stays with the job, so that a retry can delete it."""
    params = {
        "outbox_id": letter.outbox_id,
        "message_id": receipt.message_id,
        "pop_receipt": receipt.pop_receipt,
    }
    await db.execute(POISON_SENT, params)


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
