"""The quota in use: a backlog is worked as fast as the provider lets it, and almost no call is refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from shared.wiring import App
from simulator.provider.simulation import Simulation
from simulator.provider.weather import Weather
from tests.stage import Mailroom, accept, until

TICKETS = 44
BACKLOG = 2 * TICKETS - 16  # chat calls until the workers have the last jobs in hand
BURST = 20
CALLS_PER_S = 10
AT_ONCE = 16  # as host.json has it


@pytest.fixture
def provider() -> Simulation:
    """A provider with the recorded bucket and a tenth of the recorded times."""
    return Simulation(Weather(rpm=60 * CALLS_PER_S, burst=BURST, tpm=0, latency_factor=0.1))


@asynccontextmanager
async def at_work(app: App, mailroom: Mailroom) -> AsyncIterator[None]:
    """A relay that passes all the time, and workers that take what lies on the queue."""
    runs: set[asyncio.Task[None]] = set()

    async def relay() -> None:
        while True:
            await app.relay.run_pass(stay_s=1)
            await asyncio.sleep(0.05)

    async def listen() -> None:
        while True:
            if len(runs) < AT_ONCE:
                for text in await mailroom.take_texts(mailroom.tickets):
                    run = asyncio.create_task(app.worker.work(text))
                    runs.add(run)
                    run.add_done_callback(runs.discard)
            await asyncio.sleep(0.05)

    tasks = [asyncio.create_task(relay()), asyncio.create_task(listen())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *runs, return_exceptions=True)


@pytest.mark.settings(PROVIDER_CHAT_RPM=str(60 * CALLS_PER_S), PROVIDER_CHAT_BURST=str(BURST), PROVIDER_CHAT_TPM="0")
async def test_backlog_when_far_beyond_the_quota_then_it_is_used_up_and_hardly_a_call_is_refused(
    app: App, mailroom: Mailroom, provider: Simulation
) -> None:
    for _ in range(TICKETS):
        await accept(app)

    def answered() -> int:
        calls = provider.counters.snapshot()["calls"]
        return sum(calls.get(task, {}).get("200", 0) for task in ("classify", "draft_reply"))

    async def is_begun() -> bool:
        return answered() > 0

    async def is_backlog_gone() -> bool:
        return answered() >= BACKLOG

    async with at_work(app, mailroom):
        await until(is_begun, "the first call is made")
        began = time.monotonic()
        await until(is_backlog_gone, "only jobs in hand are left", within_s=40)
        took_s = time.monotonic() - began

    possible = BURST + CALLS_PER_S * took_s
    refused = sum(outcomes.get("429", 0) for outcomes in provider.counters.snapshot()["calls"].values())
    assert BACKLOG / possible >= 0.85  # 0.98 on a machine that does nothing else
    assert refused <= 0.03 * BACKLOG
