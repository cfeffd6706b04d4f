"""How long a customer waits for the 202, and what of it is the host and the database alone.

Three things in turn, at the same rate and in the same minute: POST /v1/tickets; GET /v1/health/live, which touches
nothing; and the rows of a ticket in one plain transaction, without any host.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import LiteralString

import httpx
import psycopg

from benchmarks.figures import Figure, at_most, milliseconds
from benchmarks.load import client_of, send_ticket
from benchmarks.servers import open_site
from simulator.customers import percentile, write_tickets

WARM_UP = 20
LIMIT_S = 0.015
FACTOR = 1.3

# Kind and queue of nobody's: no relay and no forecast looks at these jobs.
TICKET: LiteralString = """
INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)
VALUES (%(customer_id)s, 'team_42', %(subject)s, %(body)s, %(channel)s) RETURNING ticket_id
"""
JOB: LiteralString = """
INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s, endpoint, chat_calls_left)
VALUES ('bare', 'bare', %s, 'team_42', 'nobody', 5, 120, 'chat', 2) RETURNING job_id, delivery, run_after
"""
OUTBOX: LiteralString = """
INSERT INTO outbox (queue, purpose, job_id, delivery, due_at) VALUES ('bare', 'work', %s, %s, %s)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rate", type=float, default=10, help="of each of the three, a second (%(default)g)")
    parser.add_argument("--count", type=int, default=300, help="of each of the three (%(default)s)")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    with open_site() as site, site.make_host("host", settings={"QUEUE_MAX": "1000000"}) as host:
        async with (
            client_of(host) as client,
            await psycopg.AsyncConnection.connect(site.database_url, autocommit=True) as connection,
        ):
            times = await _in_turn(client, connection, asked.count, asked.rate)
    post, live, bare = (percentile(times[name], 0.5) for name in ("post", "live", "bare"))
    limit_s = FACTOR * (live + bare)
    return [
        at_most("POST /v1/tickets p50", 1000 * post, 1000 * LIMIT_S, "ms"),
        at_most("POST /v1/tickets p50", 1000 * post, 1000 * limit_s, "ms", why=f"{FACTOR:g} × (live + bare)"),
        milliseconds("POST /v1/tickets p99", times["post"], 0.99),
        milliseconds("GET /v1/health/live p50", times["live"], 0.5),
        milliseconds("GET /v1/health/live p99", times["live"], 0.99),
        milliseconds("bare transaction p50", times["bare"], 0.5),
        milliseconds("bare transaction p99", times["bare"], 0.99),
    ]


async def _in_turn(
    client: httpx.AsyncClient, connection: psycopg.AsyncConnection, count: int, rate: float
) -> dict[str, list[float]]:
    """The times of each, in seconds, without those of the warm-up."""
    tickets = iter(write_tickets(WARM_UP + count, Random(1)))
    bare_tickets = iter(write_tickets(WARM_UP + count, Random(2)))

    async def post(due_at: float) -> None:
        await send_ticket(client, next(tickets), due_at=due_at)

    async def live(_: float) -> None:
        (await client.get("/v1/health/live")).raise_for_status()

    async def bare(_: float) -> None:
        await _insert(connection, next(bare_tickets))

    actions: dict[str, Callable[[float], Awaitable[None]]] = {"post": post, "live": live, "bare": bare}
    times: dict[str, list[float]] = {name: [] for name in actions}
    began = time.monotonic()
    for turn in range(WARM_UP + count):
        for place, (name, action) in enumerate(actions.items()):
            due_at = began + (turn + place / len(actions)) / rate
            await asyncio.sleep(due_at - time.monotonic())
            sent_at = time.monotonic()
            await action(sent_at)
            if turn >= WARM_UP:
                times[name].append(time.monotonic() - sent_at)
    return times


async def _insert(connection: psycopg.AsyncConnection, ticket: dict[str, str]) -> None:
    async with connection.transaction():
        (ticket_id,) = await (await connection.execute(TICKET, ticket)).fetchone() or (0,)
        job = await (await connection.execute(JOB, (ticket_id,))).fetchone()
        await connection.execute(OUTBOX, job)
