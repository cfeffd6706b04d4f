"""How long a ticket lies between its 202 and the moment a worker begins it.

First now and then, on an idle system with the recorded provider: what a relay pass and the host's polling take. Then
many a second, with a provider that answers at once and no quota: whether that holds while everything is busy.
"""

import argparse
from collections.abc import Mapping
from typing import Any

from benchmarks.figures import Figure, at_most, exactly, milliseconds
from benchmarks.load import client_of, send_tickets
from benchmarks.records import Job, read_jobs, wait_until_finished
from benchmarks.servers import open_site
from simulator.customers import percentile

EVERY_S = 2.0
BUSY_RATE = 20.0
BUSY_SECONDS = 10.0
P50_S, P95_S = 0.3, 1.0
AT_ONCE = {"rpm": 0, "tpm": 0, "latency_factor": 0}
NO_LIMITS = {"QUEUE_MAX": "0", "RATE_LIMIT_PER_MINUTE": "0"}
NO_QUOTA = {"PROVIDER_CHAT_RPM": "0", "PROVIDER_CHAT_TPM": "0"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=100, help="tickets, one every 2 s (%(default)s)")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    calm = await _send(asked.count, 1 / EVERY_S, {}, NO_LIMITS)
    busy = await _send(round(BUSY_RATE * BUSY_SECONDS), BUSY_RATE, AT_ONCE, NO_LIMITS | NO_QUOTA)
    return [*_judge(f"one every {EVERY_S:g} s", calm), *_judge(f"{BUSY_RATE:g} a second", busy)]


async def _send(count: int, rate: float, weather: Mapping[str, Any], settings: Mapping[str, str]) -> list[Job]:
    with open_site(**weather) as site, site.make_host("host", settings=settings) as host:
        async with client_of(host) as client:
            job_ids = [ticket.job_id for ticket in await send_tickets(client, count, rate)]
        wait_until_finished(site.database_url, job_ids, within_s=120)
        return read_jobs(site.database_url, job_ids)


def _judge(when: str, jobs: list[Job]) -> list[Figure]:
    waits = [job.waited_s for job in jobs]
    return [
        at_most(f"{when}: p50", 1000 * percentile(waits, 0.5), 1000 * P50_S, "ms"),
        at_most(f"{when}: p95", 1000 * percentile(waits, 0.95), 1000 * P95_S, "ms"),
        milliseconds(f"{when}: longest", waits, 1.0),
        exactly(f"{when}: succeeded", sum(job.state == "succeeded" for job in jobs), len(jobs)),
    ]
