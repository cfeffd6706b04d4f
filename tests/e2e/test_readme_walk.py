"""The walk that README.md takes a newcomer on: accept without a worker, cancel, watch, then let a worker come."""

import asyncio
import re

import httpx
import pytest

from benchmarks.site import WORKER_OFF
from simulator import watch
from tests.e2e.hosts import Hosts, client_of, job_of, send_ticket
from tests.stage import until


async def test_walk_without_and_then_with_a_worker(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    async with client_of(hosts.start("no-worker", **WORKER_OFF)) as client:
        await _send_one_that_waits(client)
        await _cancel_another_twice(client)
        await _see_the_oldest_age(client)
        watching = asyncio.create_task(watch.main(watch.parse_arguments(["--every", "0.5", "--until-empty"]), client))
        await asyncio.to_thread(hosts.start, "worker")

        assert await asyncio.wait_for(watching, timeout=20) == 0

        header, *_, closing = capsys.readouterr().out.splitlines()
        assert header == watch.HEADER
        assert re.fullmatch(
            r"Done in \d+\.\d s: 1 taken, 1 succeeded, 0 waiting for the quota, "
            r"0 to retry later, 0 failed, 0 dead letters\.",
            closing,
        )
        assert [(await job_of(client, number))["state"] for number in (1, 2)] == ["succeeded", "cancelled"]


async def _send_one_that_waits(client: httpx.AsyncClient) -> None:
    accepted = await send_ticket(client)
    assert (accepted["ticket_id"], accepted["job_id"], accepted["state"]) == ("T-500001", 1, "queued")
    assert accepted["queued_ahead"] == 0

    answer = await client.get("/v1/jobs/1")

    job = answer.json()
    assert (job["state"], job["attempts"], job["started_at"], job["result"]) == ("queued", 0, None, None)
    assert answer.headers["retry-after"].isdecimal()


async def _cancel_another_twice(client: httpx.AsyncClient) -> None:
    await send_ticket(client)

    first = await client.post("/v1/jobs/2/cancel")
    second = await client.post("/v1/jobs/2/cancel")

    assert (first.status_code, first.json()["state"]) == (200, "cancelled")
    assert second.status_code == 409
    assert second.json()["error"]["code"] == "conflict"
    assert second.json()["error"]["message"] == "Job 2 is cancelled: only a queued job can be cancelled."


async def _see_the_oldest_age(client: httpx.AsyncClient) -> None:
    async def age_s() -> float:
        queue = (await client.get("/v1/queue")).json()
        assert (queue["queued"], queue["running"]) == (1, 0)
        return float(queue["oldest_queued_seconds"])

    young_s = await age_s()

    async def has_aged() -> bool:
        return await age_s() >= young_s + 1

    await until(has_aged, "the oldest job gets older")
