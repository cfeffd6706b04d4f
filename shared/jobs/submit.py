"""The arrow – → queued: a job, its outbox row and what comes with it, and the limits that may refuse it, at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from shared.db import Connection
from shared.provider.lane import LEVEL

# What is counted up to a limit is ordered as an index has it, or the planner may look for the few in the whole table.
_ROOM: LiteralString = """
waiting AS (
    SELECT count(*) AS jobs FROM (SELECT FROM jobs WHERE state = 'queued' AND kind <> 'webhook'
                                  ORDER BY kind, run_after LIMIT %(queue_max)s::integer + 1) AS known
    WHERE %(queue_max)s > 0
)"""
_HAS_ROOM: LiteralString = "(%(queue_max)s = 0 OR waiting.jobs < %(queue_max)s)"

_ANNOUNCED: LiteralString = """
, announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint, due_at)
    SELECT queue, 'work', job_id, delivery, endpoint, run_after FROM job
)
SELECT job.job_id, job.ticket_id, EXISTS (SELECT FROM asker) AS asker_exists,"""

_SEEN: LiteralString = (
    """
       (SELECT count(*) FROM (SELECT FROM jobs WHERE kind = %(kind)s AND state = 'queued' AND run_after <= now()
                              ORDER BY run_after LIMIT 1000) AS ahead) AS queued_ahead,
       (SELECT coalesce(sum(chat_calls_left), 0) FROM jobs WHERE kind = %(kind)s AND state = 'running')
           AS running_calls,
       (SELECT count(*) FROM jobs WHERE finished_at > now() - interval '1 minute' AND kind = %(kind)s)
           AS finished_last_minute,
       %(queue_max)s > 0 AND (SELECT jobs FROM waiting) >= %(queue_max)s AS queue_is_full,
       lane.calls AS lane_calls, lane.calls_per_s AS lane_calls_per_s,
       greatest(lane.paused_s, (SELECT extract(epoch FROM retry_at - clock_timestamp()) FROM provider_breakers
                                WHERE endpoint = %(endpoint)s AND is_open))::float8 AS blocked_s
FROM ("""
    + LEVEL
    + ") AS lane LEFT JOIN job ON true"
)

# The customer's window is touched only by a request that everything else lets pass, and guarded by its oldest entry:
# of two requests for the last place, the second waits for the first and then finds the window full.
TICKET: LiteralString = (
    """
WITH asker AS (
    SELECT customer_id, workspace_id FROM customers WHERE customer_id = %(customer_id)s
),"""
    + _ROOM
    + """, window_ AS (
    INSERT INTO rate_windows AS kept (customer_id, accepted_at)
    SELECT customer_id, ARRAY[clock_timestamp()] FROM asker, waiting
    WHERE %(rate_limit)s > 0 AND"""
    + _HAS_ROOM
    + """
    ON CONFLICT (customer_id) DO UPDATE SET accepted_at =
        (kept.accepted_at || clock_timestamp())[greatest(1, cardinality(kept.accepted_at) - %(rate_limit)s + 2):]
    WHERE cardinality(kept.accepted_at) < %(rate_limit)s
       OR kept.accepted_at[cardinality(kept.accepted_at) - %(rate_limit)s + 1]
          <= clock_timestamp() - interval '1 minute'
    RETURNING customer_id
), ticket AS (
    INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)
    SELECT customer_id, workspace_id, %(subject)s, %(body)s, %(channel)s FROM asker, waiting
    WHERE (%(rate_limit)s = 0 OR EXISTS (SELECT FROM window_)) AND"""
    + _HAS_ROOM
    + """
    RETURNING ticket_id, customer_id, workspace_id
), job AS (
    INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s, endpoint, chat_calls_left,
                      request_id, traceparent)
    SELECT %(kind)s, %(queue)s, ticket_id, workspace_id, 'customer:' || customer_id, %(max_attempts)s, %(deadline_s)s,
           %(endpoint)s, %(chat_calls)s, %(request_id)s, %(traceparent)s
    FROM ticket
    RETURNING job_id, ticket_id, queue, delivery, endpoint, run_after
)"""
    + _ANNOUNCED
    + """
       (SELECT extract(epoch FROM accepted_at[greatest(1, cardinality(accepted_at) - %(rate_limit)s + 1)]
                                  + interval '1 minute' - clock_timestamp())
        FROM rate_windows WHERE customer_id = %(customer_id)s AND cardinality(accepted_at) >= %(rate_limit)s
          AND %(rate_limit)s > 0)::float8 AS rate_wait_s,"""
    + _SEEN
)

JOB: LiteralString = (
    """
WITH asker AS (
    SELECT workspace_id FROM customers WHERE workspace_id = %(workspace_id)s LIMIT 1
),"""
    + _ROOM
    + """, job AS (
    INSERT INTO jobs (kind, queue, workspace_id, actor, input, max_attempts, deadline_s, endpoint, chat_calls_left,
                      wants_approval, webhook_url, share, request_id, traceparent)
    SELECT %(kind)s, %(queue)s, workspace_id, 'workspace:' || workspace_id, %(input)s, %(max_attempts)s,
           %(deadline_s)s, %(endpoint)s, %(chat_calls)s, %(wants_approval)s, %(webhook_url)s, %(share)s, %(request_id)s,
           %(traceparent)s
    FROM asker, waiting WHERE"""
    + _HAS_ROOM
    + """
    RETURNING job_id, ticket_id, queue, delivery, endpoint, run_after
)"""
    + _ANNOUNCED
    + "NULL::float8 AS rate_wait_s,"
    + _SEEN
)


@dataclass(frozen=True)
class Submission:
    """What came of it: ids (None when refused), and all that tells why, or how long the job will wait.

    `rate_wait_s`: seconds until the customer's window has a place again, if it was full before. `queued_ahead`: queued
    jobs of the kind that stand before this one (≤ 1,000); `running_calls`: chat calls that running ones still make.
    `lane_calls`, `lane_calls_per_s`: the chat quota. `blocked_s`: seconds until any call may be made.
    """

    job_id: int | None
    ticket_id: int | None
    asker_exists: bool
    rate_wait_s: float | None
    queued_ahead: int
    running_calls: int
    finished_last_minute: int
    queue_is_full: bool
    lane_calls: float
    lane_calls_per_s: float
    blocked_s: float


async def ticket(connection: Connection, params: dict[str, Any]) -> Submission:
    """Save a ticket with its job, or find out what stands against it; nothing is saved then."""
    return await _submit(connection, TICKET, params)


async def job(connection: Connection, params: dict[str, Any]) -> Submission:
    """The same for a job that a workspace asks for; `input` is a dictionary."""
    return await _submit(connection, JOB, params | {"input": Jsonb(params["input"])})


async def _submit(connection: Connection, statement: LiteralString, params: dict[str, Any]) -> Submission:
    row = await (await connection.execute(statement, params)).fetchone()
    if row is None:
        raise RuntimeError("the lane has no row")
    return Submission(**{name: row[name] for name in Submission.__dataclass_fields__})
