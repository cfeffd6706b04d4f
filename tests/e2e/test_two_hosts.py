"""Two hosts on one database and one storage account: they share the work, and one takes over from the other."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx
import pytest

from tests.e2e.hosts import (
    EACH_STEP_ONCE,
    Hosts,
    calls_for,
    client_of,
    finished,
    outcomes,
    send_ticket,
    step_begun,
)

LEASE_S = 3
SETTINGS = {
    "JOB_LEASE_SECONDS": str(LEASE_S),
    "AzureFunctionsJobHost__extensions__queues__batchSize": "2",
    "AzureFunctionsJobHost__extensions__queues__newBatchThreshold": "0",
}


@pytest.fixture
async def client(hosts: Hosts, ai: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the first of two hosts that both work, two jobs at a time each."""
    starting = [asyncio.to_thread(hosts.start, name, **SETTINGS) for name in ("first", "second")]
    first, _ = await asyncio.gather(*starting)
    async with client_of(first) as client:
        yield client


async def test_twenty_jobs_then_both_hosts_work_and_each_job_is_done_once(
    hosts: Hosts, client: httpx.AsyncClient, ai: httpx.AsyncClient
) -> None:
    await ai.put("/simulator/mode", json={"fixed_seconds": 0.05})
    job_ids = [(await send_ticket(client, f"C-00{number}"))["job_id"] for number in range(30, 50)]

    jobs = [await finished(client, job_id) for job_id in job_ids]

    assert [outcomes(job) for job in jobs] == [["succeeded"]] * 20
    assert [await calls_for(ai, job_id) for job_id in job_ids] == [EACH_STEP_ONCE] * 20
    shares = [hosts.number_of_runs(name, job_ids) for name in ("first", "second")]
    assert sum(shares) == 20
    assert min(shares) > 0


async def test_host_when_killed_in_mid_job_then_the_other_goes_on_where_it_stopped(
    hosts: Hosts, client: httpx.AsyncClient, ai: httpx.AsyncClient
) -> None:
    await ai.put("/simulator/script", json={"turns": [{"mode": "stall", "only": ["draft_reply"]}]})
    job_id = (await send_ticket(client))["job_id"]
    await step_begun(client, ai, job_id, "draft_reply")
    at_work, other = await hosts.that_runs(job_id)

    at_work.kill()
    killed_at = datetime.now(UTC)

    async with client_of(other) as witness:
        job = await finished(witness, job_id)
    assert (job["state"], job["attempts"], outcomes(job)) == ("succeeded", 2, ["lost", "succeeded"])
    assert await calls_for(ai, job_id) == EACH_STEP_ONCE | {"draft_reply": 2}
    again_at = datetime.fromisoformat(job["history"][1]["started_at"])
    assert (again_at - killed_at).total_seconds() < LEASE_S + 10


async def test_host_when_stopped_in_mid_job_then_the_job_loses_nothing(
    hosts: Hosts, client: httpx.AsyncClient, ai: httpx.AsyncClient
) -> None:
    await ai.put("/simulator/mode", json={"fixed_seconds": {"draft_reply": 1}})
    job_id = (await send_ticket(client))["job_id"]
    await step_begun(client, ai, job_id, "draft_reply")
    at_work, other = await hosts.that_runs(job_id)

    await asyncio.to_thread(at_work.stop)

    assert at_work.process.exit_code == 0
    async with client_of(other) as witness:
        job = await finished(witness, job_id)
    assert (job["state"], job["attempts"], outcomes(job)) == ("succeeded", 1, ["shutdown", "succeeded"])
    assert await calls_for(ai, job_id) == EACH_STEP_ONCE
