"""Three hundred tickets within 30 s, six times what the provider's quota can serve: is all of the quota used?

Also whether tickets, attempts or the provider's patience were lost on the way, and whether the waits that were promised
came true. With --naive a worker without a lane does the same against the same provider. Takes about six minutes each.
"""

import argparse
import asyncio
from collections.abc import Sequence
from statistics import median

import psycopg

from benchmarks.figures import Figure, at_least, at_most, exactly, show
from benchmarks.load import Accepted, client_of, send_tickets
from benchmarks.naive import NaiveWorker
from benchmarks.quota_use import Allowance, Sample, watch
from benchmarks.records import Job, Run, read_jobs, read_runs, wait_until_finished
from benchmarks.servers import open_site
from benchmarks.site import Site
from simulator.customers import percentile

RATE = 10.0
PER_MINUTE, BURST = 100, 100
TOO_LONG_S = 900
MOST_REFUSED = 2.0
LEAST_USED = 97.0
# An estimate is judged where there was something to estimate.
LONG_QUEUE = 50
MEDIAN_ERROR, P95_ERROR = 25.0, 40.0


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=300, help="tickets, ten a second (%(default)s)")
    parser.add_argument("--naive", action="store_true", help="the same with a worker that only heeds Retry-After")
    parser.add_argument("--window", action="store_true", help="a provider that counts in fixed windows of 60 s")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    allowance = Allowance(PER_MINUTE, BURST, is_windowed=asked.window)
    with open_site(quota="window" if asked.window else "bucket") as site:
        accepted, samples = await _send(site, asked.count)
        job_ids = [ticket.job_id for ticket in accepted]
        jobs, runs = read_jobs(site.database_url, job_ids), read_runs(site.database_url, job_ids)
    figures = [
        exactly("accepted", len(accepted), asked.count),
        exactly("succeeded", sum(job.state == "succeeded" for job in jobs), asked.count),
        exactly("dead letters", sum(job.state == "dead_letter" for job in jobs), 0),
        exactly("attempts lost to the quota", _attempts_lost(jobs, runs), 0),
        *_judge(samples, allowance),
        *_judge_estimates(accepted, jobs),
    ]
    return figures + (await _naive(asked.count, allowance) if asked.naive else [])


async def _send(site: Site, count: int) -> tuple[list[Accepted], list[Sample]]:
    accepted: list[Accepted] = []
    with site.make_host("host") as host:
        async with (
            client_of(host) as client,
            await psycopg.AsyncConnection.connect(site.database_url, autocommit=True) as connection,
        ):

            async def count_queued() -> int:
                found = await connection.execute("SELECT count(*) FROM jobs WHERE state = 'queued'")
                (number,) = await found.fetchone() or (0,)
                return int(number)

            async def until_all_are_done() -> None:
                accepted.extend(await send_tickets(client, count, RATE))
                await asyncio.to_thread(
                    wait_until_finished,
                    site.database_url,
                    [ticket.job_id for ticket in accepted],
                    within_s=TOO_LONG_S,
                )

            samples = await watch(site.provider_url, count_queued, until_all_are_done())
    return accepted, samples


async def _naive(count: int, allowance: Allowance) -> list[Figure]:
    with open_site(quota="window" if allowance.is_windowed else "bucket") as site:
        worker = NaiveWorker(site.provider_url)

        async def backlog() -> int:
            return worker.backlog

        samples = await watch(site.provider_url, backlog, worker.work_off(count, RATE))
    return [Figure(f"naive worker: {each.what}", each.value) for each in _judge(samples, allowance)]


def _judge(samples: Sequence[Sample], allowance: Allowance) -> list[Figure]:
    accepted, refused = samples[-1].accepted, samples[-1].refused
    first_at = next(sample.at for sample in samples if sample.accepted + sample.refused)
    return [
        at_least("quota used while jobs waited", 100 * allowance.share_used(samples), LEAST_USED, "%"),
        at_most("chat calls refused", 100 * refused / (accepted + refused), MOST_REFUSED, "%"),
        Figure("from the first call to the end", f"{show(samples[-1].at - first_at)} s"),
    ]


def _attempts_lost(jobs: Sequence[Job], runs: Sequence[Run]) -> int:
    """Attempts that were charged for runs which only met the quota: all that no other trouble accounts for."""
    troubled = sum(run.outcome not in ("succeeded", "quota", "breaker", "shutdown", "slice") for run in runs)
    return sum(job.attempts - 1 for job in jobs) - troubled


def _judge_estimates(accepted: Sequence[Accepted], jobs: Sequence[Job]) -> list[Figure]:
    waits = {job.job_id: job.waited_s for job in jobs}
    errors = [
        100 * abs((ticket.estimated_wait_s or 0.0) - waits[ticket.job_id]) / waits[ticket.job_id]
        for ticket in accepted
        if ticket.queued_ahead >= LONG_QUEUE
    ]
    return [
        at_most(f"error of the estimate, {LONG_QUEUE} or more ahead: median", median(errors), MEDIAN_ERROR, "%"),
        at_most(f"error of the estimate, {LONG_QUEUE} or more ahead: p95", percentile(errors, 0.95), P95_ERROR, "%"),
    ]
