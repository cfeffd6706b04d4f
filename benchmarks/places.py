"""Whether a worker's places are all used and none is left empty: jobs of 2.2 s on one host and on two.

Six tickets at once on four places: four are done after 2.2 s, two after 4.4 s, and all six were accepted at once. Then
twenty jobs on two hosts of four places: three rounds, and each job is done once.
"""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.figures import Figure, at_most, exactly
from benchmarks.load import Accepted, client_of, send_tickets
from benchmarks.records import Job, Run, read_jobs, read_runs, seconds, wait_until_finished
from benchmarks.servers import open_site

CALL_S = 0.7333
JOB_S = 3 * CALL_S
WEATHER = {"rpm": 0, "tpm": 0, "fixed_seconds": CALL_S}
FOUR_PLACES = {
    "AzureFunctionsJobHost__extensions__queues__batchSize": "2",
    "AzureFunctionsJobHost__extensions__queues__newBatchThreshold": "2",
    "PROVIDER_CHAT_RPM": "0",
    "PROVIDER_CHAT_TPM": "0",
}
AT_ONCE = 1000.0  # a second
AT_ONCE_S = 0.2
# What may come on top of a round's 2.2 s: the pickup of its jobs.
PICKUP_S = 0.7
TWO_HOSTS_S = 7.3


def add_options(parser: argparse.ArgumentParser) -> None:
    """It has none."""


async def measure(_asked: argparse.Namespace) -> list[Figure]:
    accepted, jobs, _runs = await _send(6, hosts=1)
    done = sorted(seconds(jobs[0].created_at, job.finished_at) for job in jobs)
    _, twenty, runs = await _send(20, hosts=2)
    last = max(job.finished_at for job in twenty if job.finished_at)
    rounds_s = seconds(min(run.started_at for run in runs), last)
    return [
        at_most("6 tickets, 4 places: the last 202", max(ticket.latency_s for ticket in accepted), AT_ONCE_S, "s"),
        at_most("6 tickets, 4 places: 4 are done after", done[3], JOB_S + PICKUP_S, "s"),
        at_most("6 tickets, 4 places: 6 are done after", done[5], 2 * (JOB_S + PICKUP_S), "s"),
        at_most("20 jobs, 2 × 4 places: from first claim to last result", rounds_s, TWO_HOSTS_S, "s"),
        exactly("20 jobs, 2 × 4 places: succeeded", sum(job.state == "succeeded" for job in twenty), 20),
        exactly("20 jobs, 2 × 4 places: runs", len(runs), 20),
    ]


async def _send(count: int, *, hosts: int) -> tuple[Sequence[Accepted], list[Job], list[Run]]:
    names = ("first", "second")[:hosts]
    with open_site(**WEATHER) as site, ExitStack() as running:
        first, *_ = [running.enter_context(site.make_host(name, settings=FOUR_PLACES)) for name in names]
        async with client_of(first) as client:
            accepted = await send_tickets(client, count, AT_ONCE)
        job_ids = [ticket.job_id for ticket in accepted]
        wait_until_finished(site.database_url, job_ids, within_s=60)
        return accepted, read_jobs(site.database_url, job_ids), read_runs(site.database_url, job_ids)
