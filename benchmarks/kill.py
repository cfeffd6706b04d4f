"""A host is killed in mid-job: how long until the job runs again, and whether finished steps are called again.

Once it is the host without the timers' lock: the other one's timers go on. Once it is the one that held it, and
nothing else happens: the survivor's timers are silent until it looks at the lock again.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import httpx

from benchmarks.figures import Figure, at_most, exactly
from benchmarks.load import client_of, send_tickets
from benchmarks.records import read_runs, seconds, wait_until_finished
from benchmarks.servers import open_site
from benchmarks.site import Site
from simulator.duplicates import count_calls
from simulator.stack.waiting import wait_until
from simulator.stack.web_server import WebServer

LEASE_S = 30.0
WITH_TIMERS_S = LEASE_S + 10
WITHOUT_TIMERS_S = LEASE_S + 130
# Long enough to be killed in its second step, well below PROVIDER_TIMEOUT.
WEATHER = {"rpm": 0, "tpm": 0, "fixed_seconds": {"classify": 0.2, "draft_reply": 6, "embed": 0.2}}
TRIES = 20


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--holder-only", action="store_true", help="only kill the host that holds the timers' lock")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    figures = [] if asked.holder_only else await _kill("the host without the timers' lock", 1, WITH_TIMERS_S)
    return figures + await _kill("the host with the timers' lock", 0, WITHOUT_TIMERS_S)


async def _kill(who: str, place: int, limit_s: float) -> list[Figure]:
    """Kill the first (0) or the second (1) host of two; the first one started holds the lock."""
    with (
        open_site(**WEATHER) as site,
        site.make_host("first") as first,
        site.make_host("second") as second,
        httpx.Client(base_url=site.provider_url) as provider,
    ):
        hosts = (first, second)
        victim = hosts[place]
        job_id = await _job_run_by(victim, hosts, site)
        wait_until(lambda: _calls(provider, job_id)["draft_reply"] == 1, deadline_s=10, what="the second step begins")
        victim.kill()
        killed_at = datetime.now(UTC)
        wait_until_finished(site.database_url, [job_id], within_s=limit_s + 60)
        runs, calls = read_runs(site.database_url, [job_id]), _calls(provider, job_id)
    return [
        at_most(f"{who}: runs again after", seconds(killed_at, runs[1].started_at), limit_s, "s"),
        exactly(f"{who}: runs", len(runs), 2),
        exactly(f"{who}: calls for the step that was finished", calls["classify"], 1),
        at_most(f"{who}: calls for the step that was cut off", calls["draft_reply"], 2, ""),
    ]


async def _job_run_by(victim: WebServer, hosts: Sequence[WebServer], site: Site) -> int:
    """Send tickets, one at a time, until `victim` begins one; its job's id."""
    for _ in range(TRIES):
        async with client_of(hosts[0]) as client:
            [ticket] = await send_tickets(client, 1, 1)
        if _who_runs(ticket.job_id, hosts, site) is victim:
            return ticket.job_id
        wait_until_finished(site.database_url, [ticket.job_id], within_s=30)
    raise TimeoutError(f"{TRIES} jobs, and {victim.process.program.name} took none")


def _who_runs(job_id: int, hosts: Sequence[WebServer], site: Site) -> WebServer:
    """Wait until one of the hosts begins the job, and say which."""
    wait_until(lambda: any(site.has_run(host, job_id) for host in hosts), deadline_s=30, what=f"job {job_id} begins")
    return next(host for host in hosts if site.has_run(host, job_id))


def _calls(provider: httpx.Client, job_id: int) -> Counter[str]:
    return count_calls(provider.get("/simulator/counters").json()["marks"], job_id)
