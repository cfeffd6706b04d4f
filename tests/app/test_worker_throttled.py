"""What the provider does that is not the job's fault: it throttles, or it is set up wrongly. No attempt is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation
from simulator.provider.weather import Turn
from tests.stage import Mailroom, accept, announce, calls, finish, job_row, runs_of, work_once


async def test_job_when_throttled_for_long_then_given_back_and_nobody_else_calls(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    provider.play([Turn(mode="refuse", retry_after="30")])
    first, second = await accept(app), await accept(app)
    for text in sorted(await announce(app, mailroom)):
        await worker.work(text)

    row = await job_row(app.db, first)
    assert (row["state"], row["attempts"]) == ("queued", 0)
    assert await runs_of(app.db, first) == [(1, 1, "quota")]
    [past] = await app.db.fetch_dicts("SELECT ended_at FROM job_runs WHERE job_id = 1")
    assert timedelta(seconds=28) < row["run_after"] - past["ended_at"] < timedelta(seconds=31)
    assert (await job_row(app.db, second))["attempts"] == 0
    assert provider.counters.snapshot()["total"] == 1


async def test_job_when_throttled_for_a_day_then_the_wait_is_cut_and_shown(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    provider.play([Turn(mode="refuse", retry_after="86400")])
    job_id = await accept(app)
    for text in await announce(app, mailroom):
        await worker.work(text)
    row = await job_row(app.db, job_id)
    assert (row["state"], row["attempts"]) == ("queued", 0)
    [now] = await app.db.fetch_dicts("SELECT now() AS now")
    assert timedelta(minutes=59) < row["run_after"] - now["now"] <= timedelta(minutes=60)


async def test_job_when_throttled_shortly_then_waited_for_within_the_run(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    provider.play([Turn(mode="refuse", retry_after_ms="50", times=3)])
    job_id = await accept(app)
    await work_once(app, mailroom, worker)
    assert await runs_of(app.db, job_id) == [(1, 1, "succeeded")]
    assert calls(provider)["classify"] == 4


@pytest.mark.settings(RETRY_BASE_SECONDS="0.01", RETRY_CAP_SECONDS="0.05")
async def test_job_when_throttled_without_a_hint_ten_times_then_no_attempt_is_lost(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    provider.play([Turn(mode="refuse", times=10)])
    job_id = await accept(app)
    await finish(app, mailroom, worker)
    row = await job_row(app.db, job_id)
    assert (row["state"], row["attempts"]) == ("succeeded", 1)
    assert calls(provider)["classify"] == 11


@pytest.mark.parametrize(
    "turn",
    [
        Turn(mode="error", status=401),
        Turn(mode="error", status=404),
        Turn(mode="garbled", variant="insufficient_quota"),
    ],
)
async def test_job_when_the_set_up_is_wrong_then_it_waits_without_losing_an_attempt(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation, turn: Turn
) -> None:
    provider.play([turn])
    first, second = await accept(app), await accept(app)
    for text in sorted(await announce(app, mailroom)):
        await worker.work(text)

    job, _ = await app.status.job(first)
    assert (job.state, job.attempts) == ("queued", 0)
    assert job.last_error is not None
    assert job.last_error.code == "provider_config"
    assert await runs_of(app.db, first) == [(1, 1, "breaker")]
    assert (await job_row(app.db, second))["attempts"] == 0
    assert provider.counters.snapshot()["total"] == 1
