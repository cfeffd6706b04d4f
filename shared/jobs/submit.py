"""The arrow – → queued: a ticket, its job, its outbox row and the limits that may refuse them, in one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

from shared.db import Connection
from shared.provider.lane import LEVEL

# The customer's window is touched only by a request that everything else lets pass, and guarded by its oldest entry:
# of two requests for the last place, the second waits for the first and then finds the window full. What is counted up
# to a limit is ordered as an index has it, or the planner may look for the few in the whole table.
TICKET: LiteralString = (
    """
WITH asker AS (
    SELECT customer_id, workspace_id FROM customers WHERE customer_id = %(customer_id)s
), waiting AS (
    SELECT count(*) AS jobs FROM (SELECT FROM jobs WHERE state = 'queued'
                                  ORDER BY kind, run_after LIMIT %(queue_max)s::integer + 1) AS known
    WHERE %(queue_max)s > 0
), window_ AS (
    INSERT INTO rate_windows AS kept (customer_id, accepted_at)
    SELECT customer_id, ARRAY[clock_timestamp()] FROM asker, waiting
    WHERE %(rate_limit)s > 0 AND (%(queue_max)s = 0 OR waiting.jobs < %(queue_max)s)
    ON CONFLICT (customer_id) DO UPDATE SET accepted_at =
        (kept.accepted_at || clock_timestamp())[greatest(1, cardinality(kept.accepted_at) - %(rate_limit)s + 2):]
    WHERE cardinality(kept.accepted_at) < %(rate_limit)s
       OR kept.accepted_at[cardinality(kept.accepted_at) - %(rate_limit)s + 1]
          <= clock_timestamp() - interval '1 minute'
    RETURNING customer_id
), ticket AS (
    INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)
    SELECT customer_id, workspace_id, %(subject)s, %(body)s, %(channel)s FROM asker, waiting
    WHERE (%(queue_max)s = 0 OR waiting.jobs < %(queue_max)s) AND (%(rate_limit)s = 0 OR EXISTS (SELECT FROM window_))
    RETURNING ticket_id, customer_id, workspace_id
), job AS (
    INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s, endpoint, chat_calls_left,
                      request_id, traceparent)
    SELECT %(kind)s, %(queue)s, ticket_id, workspace_id, 'customer:' || customer_id, %(max_attempts)s, %(deadline_s)s,
           %(endpoint)s, %(chat_calls)s, %(request_id)s, %(traceparent)s
    FROM ticket
    RETURNING job_id, ticket_id, queue, delivery, endpoint, run_after
), announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint, due_at)
    SELECT queue, 'work', job_id, delivery, endpoint, run_after FROM job
)
SELECT job.job_id, job.ticket_id, EXISTS (SELECT FROM asker) AS asker_exists,
       (SELECT extract(epoch FROM accepted_at[greatest(1, cardinality(accepted_at) - %(rate_limit)s + 1)]
                                  + interval '1 minute' - clock_timestamp())
        FROM rate_windows WHERE customer_id = %(customer_id)s AND cardinality(accepted_at) >= %(rate_limit)s
          AND %(rate_limit)s > 0)::float8 AS rate_wait_s,
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
    row = await (await connection.execute(TICKET, params)).fetchone()
    if row is None:
        raise RuntimeError("the lane has no row")
    return Submission(**{name: row[name] for name in Submission.__dataclass_fields__})
