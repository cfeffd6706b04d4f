"""A support report: how long it takes beside its provider calls, how much memory, and what a kill or a slice costs.

The provider takes fixed times and has no quota, so that what the report should take can be said beforehand. An hour is
shown a hundred times faster: the calls, the slice, the deadline and functionTimeout. Memory is read on Linux only.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any, LiteralString

import httpx
import psycopg

from benchmarks.figures import Figure, at_least, at_most, exactly
from benchmarks.records import Run, read_jobs, read_runs, seconds, wait_until_finished
from benchmarks.servers import open_site
from benchmarks.site import Site
from benchmarks.workers import peak_mib
from simulator.stack.waiting import wait_until
from simulator.stack.web_server import WebServer

PARALLELISM = 4
SHOP_TICKETS = 300  # of team_42, as the data set has them
BATCHES = 12  # of these
CALL_S = 1.6  # the recorded median of such calls
FACTOR = 1.3
MANY = 10_000
MOST_MIB = 50.0
NO_QUOTA = {"PROVIDER_CHAT_RPM": "0", "PROVIDER_CHAT_TPM": "0"}

# 50 minutes of 60, slices of 20, functionTimeout 30: a hundredth of each. 28 rounds of four batches, then the merges.
LONG_TICKETS = 2_800
LONG = {
    "RUN_SLICE_SECONDS": "12",
    "AzureFunctionsJobHost__functionTimeout": "00:00:18",
}
LONG_CALLS = {"summarise": 0.98, "merge": 0.5}
LONG_DEADLINE_S = 36

MORE_TICKETS: LiteralString = """
WITH known AS (
    SELECT *, row_number() OVER (ORDER BY ticket_id) - 1 AS place FROM tickets WHERE workspace_id = 'team_42'
)
INSERT INTO tickets (customer_id, workspace_id, subject, body, channel, created_at, team, priority)
SELECT customer_id, workspace_id, subject, body || repeat(' It is still like that today.', 15), channel,
       now() - n %% 6 * interval '1 day', team, priority
FROM generate_series(1, %(count)s) AS n JOIN known ON place = n %% 300
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", choices=PARTS, help="one part of it")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    parts = [PARTS[asked.only]] if asked.only else PARTS.values()
    return [figure for part in parts for figure in await asyncio.to_thread(part)]


def time() -> list[Figure]:
    """300 tickets with calls of the recorded length."""
    with open_site(rpm=0, tpm=0, fixed_seconds=CALL_S) as site, site.make_host("host", settings=NO_QUOTA) as host:
        job_id = _order(host)
        wait_until_finished(site.database_url, [job_id], within_s=120)
        [job] = read_jobs(site.database_url, [job_id])
    ideal_s = BATCHES * CALL_S / PARALLELISM + CALL_S
    took_s = seconds(job.created_at, job.finished_at)
    return [
        exactly("300 tickets: succeeded", job.state == "succeeded", True),
        at_most("300 tickets: from the 202 to the end", took_s, FACTOR * ideal_s, "s", why=f"{FACTOR:g} × the calls"),
    ]


def memory() -> list[Figure]:
    """The same with 300 and with 10,000 tickets, each on a host of its own."""
    few, many = _peak_with(0), _peak_with(MANY - SHOP_TICKETS)
    return [
        Figure("300 tickets: most memory of the worker", f"{few:.0f} MiB"),
        at_most("10,000 tickets: most memory of the worker", many, few + MOST_MIB, "MiB", why="50 MiB more"),
    ]


def kill() -> list[Figure]:
    """The host is killed amid the batches, and another one goes on."""
    settings = NO_QUOTA | {"JOB_LEASE_SECONDS": "3"}
    with (
        open_site(rpm=0, tpm=0, fixed_seconds=CALL_S) as site,
        site.make_host("first", settings=settings) as first,
        httpx.Client(base_url=site.provider_url) as provider,
    ):
        job_id = _order(first)
        wait_until(lambda: _calls(provider).total() >= 6, deadline_s=60, what="the second round of batches")
        first.kill()
        with site.make_host("second", settings=settings):
            wait_until_finished(site.database_url, [job_id], within_s=200)
        [job] = read_jobs(site.database_url, [job_id])
        calls = _calls(provider)
    repeated = sum(count - 1 for count in calls.values())
    return [
        exactly("killed: succeeded all the same", job.state == "succeeded", True),
        at_least("killed: calls", calls.total(), BATCHES + 1, ""),
        at_most("killed: calls made again", repeated, PARALLELISM, ""),
    ]


def slices() -> list[Figure]:
    """A report that takes longer than a function may."""
    with (
        open_site(rpm=0, tpm=0, fixed_seconds=LONG_CALLS) as site,
        site.make_host("host", settings=NO_QUOTA | LONG) as host,
        httpx.Client(base_url=site.provider_url) as provider,
    ):
        _add_tickets(site, LONG_TICKETS - SHOP_TICKETS)
        job_id = _order(host, timeout_seconds=LONG_DEADLINE_S)
        wait_until_finished(site.database_url, [job_id], within_s=180)
        [job] = read_jobs(site.database_url, [job_id])
        runs, calls = read_runs(site.database_url, [job_id]), _calls(provider)
    return [
        exactly("an hour in small: succeeded", job.state == "succeeded", True),
        at_least("an hour in small: slices", len(runs), 2, ""),
        at_most("an hour in small: the longest run", max(map(_length_s, runs)), 18, "s", why="functionTimeout"),
        exactly("an hour in small: attempts", job.attempts, 1),
        exactly("an hour in small: calls made again", sum(count - 1 for count in calls.values()), 0),
    ]


PARTS = {"time": time, "memory": memory, "kill": kill, "slices": slices}


def _order(host: WebServer, **more: Any) -> int:
    asked = {"task": "Generate weekly support report", "workspace_id": "team_42"} | more
    answer = httpx.post(f"{host.url}/v1/jobs", json=asked, timeout=30).raise_for_status()
    job_id: int = answer.json()["job_id"]
    return job_id


def _peak_with(more_tickets: int) -> float:
    with open_site(rpm=0, tpm=0, latency_factor=0) as site, site.make_host("host", settings=NO_QUOTA) as host:
        _add_tickets(site, more_tickets)
        job_id = _order(host)
        wait_until_finished(site.database_url, [job_id], within_s=300)
        if read_jobs(site.database_url, [job_id])[0].state != "succeeded":
            raise RuntimeError("the report did not succeed")
        return peak_mib(host)


def _add_tickets(site: Site, count: int) -> None:
    with psycopg.connect(site.database_url, autocommit=True) as connection:
        connection.execute(MORE_TICKETS, {"count": count})


def _calls(provider: httpx.Client) -> Counter[str]:
    """Calls by step, over all runs (the marks are `job-7/run-1/batch-3`)."""
    marks: Mapping[str, Any] = provider.get("/simulator/counters").json()["marks"]
    calls: Counter[str] = Counter()
    for mark, tasks in marks.items():
        calls[mark.rpartition("/")[2]] += sum(sum(outcomes.values()) for outcomes in tasks.values())
    return calls


def _length_s(run: Run) -> float:
    return seconds(run.started_at, run.ended_at)
