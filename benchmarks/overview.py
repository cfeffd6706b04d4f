"""What looking costs with a million finished and ten thousand queued jobs: the numbers, every list, twenty open pages.

Each list is asked for page after page, with every filter alone and with some together. A page that is open asks for
the numbers every two seconds; what twenty of them cost the app's worker and Postgres is read from Linux, less what both
take with nobody there.
"""

import argparse
import asyncio
import time
from itertools import cycle
from typing import LiteralString

import httpx
import psycopg

from benchmarks.backlog import fill
from benchmarks.figures import Figure, at_most, milliseconds, show
from benchmarks.load import client_of
from benchmarks.servers import open_site
from benchmarks.site import WORKER_OFF
from benchmarks.workers import cpu_s, server_cpu_s
from shared.wiring import GLANCE_S
from simulator.customers import percentile

LIMIT_S = 0.05
EVERY_S = 2.0
CORE_SHARE = 0.05
# Nothing moves, so that what is measured is looking alone.
STILL = {**WORKER_OFF, "AzureWebJobs.relay_outbox.Disabled": "1", "AzureWebJobs.sweep_jobs.Disabled": "1"}

TROUBLE: LiteralString = """
UPDATE jobs SET state = CASE WHEN job_id %% 1000 = 0 THEN 'dead_letter' ELSE 'failed' END, result = NULL,
    last_error = jsonb_build_object('code', CASE WHEN job_id %% 300 = 0 THEN 'bad_answer' ELSE 'provider_timeout' END,
                                    'message', 'x', 'at', finished_at, 'attempt', 5)
WHERE job_id %% 100 = 0 AND state = 'succeeded'
"""
LISTS = (
    *("/v1/jobs?", "/v1/jobs?state=dead_letter", "/v1/jobs?state=failed", "/v1/jobs?state=queued"),
    *("/v1/jobs?state=succeeded", "/v1/jobs?kind=support_report", "/v1/jobs?workspace_id=team_42"),
    *("/v1/jobs?workspace_id=nobody", "/v1/jobs?error_code=provider_timeout", "/v1/jobs?error_code=worker_lost"),
    "/v1/jobs?state=dead_letter&kind=ticket&workspace_id=team_42&error_code=bad_answer",
    *("/v1/tickets?", "/v1/tickets?ai_state=failed", "/v1/tickets?ai_state=succeeded", "/v1/tickets?team=billing"),
    *("/v1/tickets?team=login", "/v1/tickets?customer_id=C-0022", "/v1/tickets?workspace_id=nobody"),
    "/v1/tickets?ai_state=dead_letter&workspace_id=team_42&team=billing",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--finished", type=int, default=1_000_000, help="finished jobs (%(default)s)")
    parser.add_argument("--queued", type=int, default=10_000, help="queued jobs (%(default)s)")
    parser.add_argument("--count", type=int, default=60, help="times that each is asked for (%(default)s)")
    parser.add_argument("--pages", type=int, default=20, help="open pages (%(default)s)")
    parser.add_argument("--seconds", type=int, default=30, help="how long they stay open (%(default)s)")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    with open_site(rpm=0) as site, psycopg.connect(site.database_url, autocommit=True) as connection:
        fill(site.database_url, asked.finished, asked.queued)
        connection.execute("SET statement_timeout = 0; SET lock_timeout = 0")
        connection.execute(TROUBLE, {})
        connection.execute("VACUUM ANALYZE jobs")
        with site.make_host("host", settings={"QUEUE_MAX": "0", **STILL}) as host:
            async with client_of(host) as client:
                queue = await _numbers(client, asked.count)
                lists = {path: await _list(client, path, asked.count) for path in LISTS}

                def used_s() -> tuple[float, float]:
                    return cpu_s(host), server_cpu_s(connection)

                before = used_s()
                await asyncio.sleep(asked.seconds)
                idle = used_s()
                await _pages(client, asked.pages, asked.seconds)
                after = used_s()
    app, database = (
        100 * ((end - middle) - (middle - start)) / asked.seconds
        for start, middle, end in zip(before, idle, after, strict=True)
    )
    worst = max(lists, key=lambda path: percentile(lists[path], 0.95))
    return [
        milliseconds("GET /v1/queue: p50", queue, 0.5),
        at_most("GET /v1/queue: p95", 1000 * percentile(queue, 0.95), 1000 * LIMIT_S, "ms"),
        *(milliseconds(f"GET {path.rstrip('?')}: p95", times, 0.95) for path, times in lists.items()),
        at_most(f"the slowest list ({worst})", 1000 * percentile(lists[worst], 0.95), 1000 * LIMIT_S, "ms"),
        at_most(f"{asked.pages} open pages", app + database, 100 * CORE_SHARE, "% of a core"),
        Figure("of that the app's worker, Postgres", f"{show(app)} %, {show(database)} %"),
    ]


async def _numbers(client: httpx.AsyncClient, count: int) -> list[float]:
    """Each answer made for this question: the one before is no longer kept."""
    times = []
    for _ in range(count):
        times.append(await _timed(client, "/v1/queue"))
        await asyncio.sleep(GLANCE_S + 0.05)
    return times


async def _list(client: httpx.AsyncClient, path: str, count: int) -> list[float]:
    """Pages one after the other, from the top again after ten or the last."""
    times, after = [], ""
    for turn in cycle(range(10)):
        began = time.monotonic()
        answer = (await client.get(f"{path}&limit=50{after if turn else ''}")).raise_for_status()
        times.append(time.monotonic() - began)
        following = answer.json()["next"]
        after = f"&after={following}" if following else ""
        if len(times) == count:
            break
    return times


async def _pages(client: httpx.AsyncClient, pages: int, seconds: int) -> None:
    """Pages that look every two seconds, each a little after the other."""
    began = time.monotonic()

    async def look(number: int) -> None:
        for turn in range(int(seconds / EVERY_S)):
            await asyncio.sleep(began + EVERY_S * (turn + number / pages) - time.monotonic())
            (await client.get("/v1/queue")).raise_for_status()

    await asyncio.gather(*map(look, range(pages)))
    await asyncio.sleep(began + seconds - time.monotonic())


async def _timed(client: httpx.AsyncClient, path: str) -> float:
    began = time.monotonic()
    (await client.get(path)).raise_for_status()
    return time.monotonic() - began
