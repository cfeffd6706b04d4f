"""Thirty jobs and a provider that is away for 20 s: how often it is called meanwhile, and what becomes of the jobs.

With few places and with many: the breaker is shared, so that more workers must not mean more useless calls.
"""

import argparse
import asyncio
from collections import Counter
from typing import Any

import httpx

from benchmarks.figures import Figure, at_most, exactly
from benchmarks.load import client_of, send_tickets
from benchmarks.records import read_jobs, wait_until_finished
from benchmarks.servers import open_site

JOBS = 30
OUTAGE_S = 20.0
MOST_CALLS = 8
AT_ONCE = 1000.0
UNDER_WAY_S = 1.5  # from the first ticket to the outage: every place has a call out
# Places: batchSize + newBatchThreshold of the host.
PLACES = {4: ("2", "2"), 24: ("16", "8")}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--places", type=int, choices=PLACES, action="append", help="how many at once (4, then 24)")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    return [figure for places in asked.places or PLACES for figure in await _with_places(places)]


async def _with_places(places: int) -> list[Figure]:
    batch, threshold = PLACES[places]
    settings = {
        "AzureFunctionsJobHost__extensions__queues__batchSize": batch,
        "AzureFunctionsJobHost__extensions__queues__newBatchThreshold": threshold,
    }
    with open_site() as site, site.make_host("host", settings=settings) as host:
        async with client_of(host) as client, httpx.AsyncClient(base_url=site.provider_url) as provider:
            job_ids = [ticket.job_id for ticket in await send_tickets(client, JOBS, AT_ONCE)]
            await asyncio.sleep(UNDER_WAY_S)
            calls, in_flight = await _sit_through(provider)
        wait_until_finished(site.database_url, job_ids, within_s=180)
        states = [job.state for job in read_jobs(site.database_url, job_ids)]
    limit = MOST_CALLS if places <= MOST_CALLS else MOST_CALLS + in_flight
    why = "" if places <= MOST_CALLS else f"{MOST_CALLS} and the {in_flight} under way when it began"
    by_task = ", ".join(f"{task} {count}" for task, count in sorted(calls.items()))
    return [
        at_most(f"{places} places: calls during the outage", calls.total(), limit, "", why=why),
        Figure(f"{places} places: these were", by_task or "none"),
        exactly(f"{places} places: dead letters", states.count("dead_letter"), 0),
        exactly(f"{places} places: succeeded", states.count("succeeded"), JOBS),
    ]


async def _sit_through(provider: httpx.AsyncClient) -> tuple[Counter[str], int]:
    """Calls that arrived during the outage, by task, and how many were under way when it began."""
    await provider.put("/simulator/mode", json={"mode": "outage"})
    before = await _counters(provider)
    await asyncio.sleep(OUTAGE_S)
    after = await _counters(provider)
    await provider.put("/simulator/mode", json={})
    return _calls(after) - _calls(before), before["in_flight"]


def _calls(counters: dict[str, Any]) -> Counter[str]:
    return Counter({task: sum(outcomes.values()) for task, outcomes in counters["calls"].items()})


async def _counters(provider: httpx.AsyncClient) -> dict[str, Any]:
    counters: dict[str, Any] = (await provider.get("/simulator/counters")).json()
    return counters
