"""Whether accepting stays quick with a full house: a million finished and ten thousand queued jobs in the tables.

Two databases on one server, one empty and one full, each with its host, are asked in turn. Then GET /v1/queue, whose
numbers must not cost a look at every row.
"""

import argparse
import asyncio
import time
from random import Random
from typing import LiteralString

import httpx
import psycopg

from benchmarks.figures import Figure, at_most, milliseconds
from benchmarks.load import client_of, send_ticket
from benchmarks.servers import open_sites
from simulator.customers import percentile, write_tickets

FACTOR = 1.2
WARM_UP = 20
SETTINGS = {"QUEUE_MAX": "0"}

# Spread over a month that ends an hour ago; every finished one with its run, as the history keeps it.
FINISHED: LiteralString = """
WITH ticket AS (
    INSERT INTO tickets (customer_id, workspace_id, subject, body, channel, created_at, team, priority, draft_reply)
    SELECT 'C-' || to_char(1 + n %% 60, 'FM0000'), 'team_42', 'Charged twice', 'Two payments for one order.', 'email',
           now() - interval '1 hour' - n * interval '2.5 seconds', 'billing', 1, 'Thank you for your message.'
    FROM generate_series(1, %(count)s::bigint) AS n
    RETURNING ticket_id, workspace_id, customer_id, created_at
), job AS (
    INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, state, delivery, run, attempts, max_attempts,
                      deadline_s, run_after, created_at, started_at, finished_at, progress, result)
    SELECT 'ticket', 'tickets', ticket_id, workspace_id, 'customer:' || customer_id, 'succeeded', 1, 1, 1, 5, 120,
           created_at, created_at, created_at, created_at + interval '3 seconds', 100, '{"team": "billing"}'
    FROM ticket RETURNING job_id, created_at
)
INSERT INTO job_runs (job_id, run, attempt, started_at, ended_at, outcome, queue, announced_at)
SELECT job_id, 1, 1, created_at, created_at + interval '3 seconds', 'succeeded', 'tickets', created_at FROM job
"""
QUEUED: LiteralString = """
WITH ticket AS (
    INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)
    SELECT 'C-' || to_char(1 + n %% 60, 'FM0000'), 'team_42', 'Charged twice', 'Two payments for one order.', 'email'
    FROM generate_series(1, %(count)s::bigint) AS n
    RETURNING ticket_id, workspace_id, customer_id
), job AS (
    INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s, endpoint, chat_calls_left)
    SELECT 'ticket', 'tickets', ticket_id, workspace_id, 'customer:' || customer_id, 5, 120, 'chat', 2
    FROM ticket RETURNING job_id, delivery, endpoint, run_after
)
INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint, due_at)
SELECT 'tickets', 'work', job_id, delivery, endpoint, run_after FROM job
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--finished", type=int, default=1_000_000, help="finished jobs (%(default)s)")
    parser.add_argument("--queued", type=int, default=10_000, help="queued jobs (%(default)s)")
    parser.add_argument("--count", type=int, default=200, help="tickets sent to each host (%(default)s)")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    with open_sites("empty", "full", weather={}) as (empty, full):
        fill(full.database_url, asked.finished, asked.queued)
        with (
            empty.make_host("empty", settings=SETTINGS) as empty_host,
            full.make_host("full", settings=SETTINGS) as full_host,
        ):
            async with client_of(empty_host) as of_empty, client_of(full_host) as of_full:
                times = await _in_turn({"empty": of_empty, "full": of_full}, asked.count)
                looks = await _look(of_full, asked.count)
    limit_s = FACTOR * percentile(times["empty"], 0.5)
    return [
        milliseconds("POST /v1/tickets, empty tables: p50", times["empty"], 0.5),
        at_most(
            "POST /v1/tickets, full tables: p50",
            1000 * percentile(times["full"], 0.5),
            1000 * limit_s,
            "ms",
            why=f"{FACTOR:g} × empty",
        ),
        milliseconds("POST /v1/tickets, empty tables: p99", times["empty"], 0.99),
        milliseconds("POST /v1/tickets, full tables: p99", times["full"], 0.99),
        milliseconds("GET /v1/queue, full tables: p50", looks, 0.5),
        milliseconds("GET /v1/queue, full tables: p95", looks, 0.95),
    ]


def fill(database_url: str, finished: int, queued: int) -> None:
    """Put so many jobs into the tables, and let Postgres get to know them."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        connection.execute(FINISHED, {"count": finished})
        connection.execute(QUEUED, {"count": queued})
        connection.execute("VACUUM ANALYZE")


async def _in_turn(clients: dict[str, httpx.AsyncClient], count: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in clients}
    tickets = write_tickets(len(clients) * (WARM_UP + count), Random(1))
    for turn in range(WARM_UP + count):
        for name, client in clients.items():
            accepted = await send_ticket(client, tickets.pop(), due_at=time.monotonic())
            if turn >= WARM_UP:
                times[name].append(accepted.latency_s)
            await asyncio.sleep(0.05)
    return times


async def _look(client: httpx.AsyncClient, count: int) -> list[float]:
    times = []
    for _ in range(count):
        began = time.monotonic()
        (await client.get("/v1/queue")).raise_for_status()
        times.append(time.monotonic() - began)
        await asyncio.sleep(0.05)
    return times
