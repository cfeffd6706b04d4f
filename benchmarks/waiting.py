"""Two hundred clients who wait for their jobs, and as many who ask every second: what each costs. Linux only.

One host, one kind of client after the other; the jobs are nobody's, so nothing happens to them. Statements are counted
by Postgres, less those that it counts in as much time without clients.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import LiteralString

import httpx
import psycopg

from benchmarks.figures import Figure, at_most, show
from benchmarks.load import client_of
from benchmarks.servers import open_site
from benchmarks.workers import cpu_s
from simulator.stack.web_server import WebServer

MOST_STATEMENTS = 5.0
SHARE = 0.1
WAIT_S = 20
SETTLED_S = 1.5  # Postgres publishes its counts once a second
CHECKED = 2  # the pool tries a connection with an empty statement before it lends it, and Postgres counts that too

# Kind and queue of nobody's: no relay and no worker looks at these jobs.
JOBS: LiteralString = """
INSERT INTO jobs (kind, queue, workspace_id, actor, max_attempts, deadline_s)
SELECT 'bare', 'bare', 'team_42', 'nobody', 5, 120 FROM generate_series(1, %(count)s) RETURNING job_id
"""
STATEMENTS: LiteralString = (
    "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
)


@dataclass(frozen=True)
class Cost:
    """What some time cost: statements a second, the workers' processor time in seconds, and answers given."""

    statements_per_s: float
    cpu_s: float
    answers: int


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clients", type=int, default=200, help="of each kind (%(default)s)")
    parser.add_argument("--seconds", type=int, default=20, help="how long each kind stays (%(default)s)")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    with open_site(rpm=0) as site, site.make_host("host") as host:
        async with client_of(host) as client, await psycopg.AsyncConnection.connect(site.database_url) as connection:
            await connection.set_autocommit(True)
            rows = await (await connection.execute(JOBS, {"count": asked.clients})).fetchall()
            paths = [f"/v1/jobs/{job_id}" for (job_id,) in rows]
            client.timeout = httpx.Timeout(WAIT_S + 30)
            meter = Meter(connection, host)
            await meter.cost_of(_ask(client, paths, 1))  # warm up
            idle = await meter.cost_of(asyncio.sleep(asked.seconds, 0))
            waiting = await meter.cost_of(_wait(client, paths, asked.seconds))
            asking = await meter.cost_of(_ask(client, paths, asked.seconds))
    statements = waiting.statements_per_s - idle.statements_per_s
    waiting_cpu, asking_cpu = waiting.cpu_s - idle.cpu_s, asking.cpu_s - idle.cpu_s
    return [
        at_most("waiting: statements a second for all", statements, MOST_STATEMENTS, ""),
        Figure("asking: statements a second for all", show(asking.statements_per_s - idle.statements_per_s)),
        at_most("waiting: workers' CPU", waiting_cpu, SHARE * asking_cpu, "s", why=f"{SHARE:g} × asking"),
        Figure("asking: workers' CPU", f"{show(asking_cpu)} s"),
        Figure("answers: waiting, asking", f"{waiting.answers}, {asking.answers}"),
        Figure("nobody there: statements a second, CPU", f"{show(idle.statements_per_s)}, {show(idle.cpu_s)} s"),
    ]


class Meter:
    """Reads what Postgres and the system count, before and after."""

    def __init__(self, connection: psycopg.AsyncConnection, host: WebServer) -> None:
        self._connection = connection
        self._host = host

    async def cost_of(self, clients: Awaitable[int]) -> Cost:
        """Let the clients come and go, and say what that cost."""
        await asyncio.sleep(SETTLED_S)
        statements, cpu, began = await self._statements(), cpu_s(self._host), time.monotonic()
        answers = await clients
        used_s = cpu_s(self._host) - cpu
        await asyncio.sleep(SETTLED_S)
        made = await self._statements() - statements
        return Cost(made / CHECKED / (time.monotonic() - began), used_s, answers)

    async def _statements(self) -> int:
        (count,) = await (await self._connection.execute(STATEMENTS)).fetchone() or (0,)
        return int(count)


async def _wait(client: httpx.AsyncClient, paths: list[str], seconds: int) -> int:
    """Each client waits for its job, for as long as it may at once; how many answers came."""

    async def wait(path: str) -> None:
        answer = await client.get(path, headers={"Prefer": f"wait={min(seconds, WAIT_S)}"})
        answer.raise_for_status()

    await asyncio.gather(*map(wait, paths))
    return len(paths)


async def _ask(client: httpx.AsyncClient, paths: list[str], seconds: int) -> int:
    """Each client asks every second, one a little after the other; how many answers came."""
    began = time.monotonic()

    async def ask(number: int, path: str) -> int:
        for turn in range(seconds):
            await asyncio.sleep(began + turn + number / len(paths) - time.monotonic())
            (await client.get(path)).raise_for_status()
        return seconds

    return sum(await asyncio.gather(*(ask(number, path) for number, path in enumerate(paths))))
