"""A run's limits: deadline, slice, lease, cancel, shutdown."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from shared.kinds.kind import Desk
from shared.wiring import App
from shared.worker import ShuttingDown, Worker
from simulator.provider.simulation import Simulation
from simulator.provider.weather import Turn, Weather
from tests.db.arrows import send
from tests.kinds import kind_of
from tests.stage import Mailroom, accept, announce, finish, job_row, runs_of, until


class Held:
    """A step that is held until it is let go."""

    def __init__(self, output: Any = "held") -> None:
        self.is_at_work = asyncio.Event()
        self.may_end = asyncio.Event()
        self.was_cancelled = False
        self._output = output

    async def __call__(self, desk: Desk) -> Any:
        self.is_at_work.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return self._output


async def begin(app: App, mailroom: Mailroom, worker: Worker, step: Held) -> tuple[int, asyncio.Task[None]]:
    """A ticket whose only step is under way: its job's id and the worker's task."""
    job_id = await accept(app)
    [text] = await announce(app, mailroom)
    task = asyncio.create_task(replace(worker, kinds=kind_of(step)).work(text))
    await step.is_at_work.wait()
    return job_id, task


async def test_run_when_the_deadline_comes_then_the_call_is_ended_and_the_job_failed(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    provider.play([Turn(mode="stall", times=9)])
    job_id = await accept(app)
    await app.db.execute("UPDATE jobs SET deadline_s = 0.2")
    [text] = await announce(app, mailroom)

    await worker.work(text)

    job, ask_again_s = await app.status.job(job_id)
    assert (job.state, job.attempts, ask_again_s) == ("failed", 1, None)
    assert job.last_error is not None
    assert job.last_error.code == "job_timeout"
    assert await runs_of(app.db, job_id) == [(1, 1, "failed")]
    # The deadline counts from before the claim, the row from its end.
    assert 0 < (await job_row(app.db, job_id))["ran_s"] < 5


async def test_run_when_earlier_runs_used_the_time_up_then_no_step_begins(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    step = Held()
    job_id = await accept(app)
    await app.db.execute("UPDATE jobs SET ran_s = deadline_s")
    [text] = await announce(app, mailroom)

    await replace(worker, kinds=kind_of(step)).work(text)

    row = await job_row(app.db, job_id)
    assert (row["state"], row["last_error"]["code"]) == ("failed", "job_timeout")
    assert not step.is_at_work.is_set()


@pytest.mark.settings(RUN_SLICE_SECONDS="0.05")
async def test_run_when_its_slice_is_over_then_given_back_with_its_steps_and_without_losing_an_attempt(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    provider.change(Weather(rpm=0, tpm=0, latency_factor=0, fixed_seconds=0.1))
    job_id = await accept(app)
    await finish(app, mailroom, worker)

    # A busy machine may cut a slice even before its first step.
    *cut, last = await runs_of(app.db, job_id)
    assert len(cut) >= 2
    assert {(attempt, outcome) for _, attempt, outcome in cut} == {(1, "slice")}
    assert last == (len(cut) + 1, 1, "succeeded")
    row = await job_row(app.db, job_id)
    assert (row["attempts"], row["last_error"]) == (1, None)
    assert row["ran_s"] >= 0.2
    assert provider.counters.snapshot()["total"] == 3


@pytest.mark.settings(JOB_LEASE_SECONDS="0.6")
async def test_run_when_it_takes_longer_than_its_lease_then_the_heart_extends_it(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    step = Held()
    job_id, task = await begin(app, mailroom, worker, step)
    leases = {(await job_row(app.db, job_id))["locked_until"]}

    async def extended_three_times() -> bool:
        row = await app.db.fetch_dict("SELECT locked_until, locked_until > clock_timestamp() AS holds FROM jobs")
        assert row is not None
        assert row["holds"]
        leases.add(row["locked_until"])
        return len(leases) >= 4

    await until(extended_three_times, "the lease is extended three times")
    step.may_end.set()
    await task
    assert await runs_of(app.db, job_id) == [(1, 1, "succeeded")]


@pytest.mark.settings(JOB_LEASE_SECONDS="0.3")
async def test_run_when_it_was_taken_away_then_the_heart_stops_it_and_nothing_is_written(
    app: App, mailroom: Mailroom, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    step = Held()
    job_id, task = await begin(app, mailroom, worker, step)
    await app.db.execute("UPDATE jobs SET run = run + 1")
    before = await job_row(app.db, job_id)

    await task

    assert step.was_cancelled
    after = await job_row(app.db, job_id)
    assert (after["state"], after["run"], after["result"]) == ("running", before["run"], None)
    assert f"job {job_id}: run 1 is no longer this worker's" in caplog.text


async def test_run_when_it_comes_back_after_its_successor_has_finished_then_its_result_is_dropped(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    step = Held("late")
    job_id, task = await begin(app, mailroom, worker, step)
    await send(app.db, "lose", await job_row(app.db, job_id))
    [second] = await announce(app, mailroom)

    async def in_time(desk: Desk) -> str:
        return "in time"

    await replace(worker, kinds=kind_of(in_time)).work(second)
    step.may_end.set()
    await task

    row = await job_row(app.db, job_id)
    assert (row["state"], row["run"], row["result"]) == ("succeeded", 2, {"step_1": "in time"})
    assert await runs_of(app.db, job_id) == [(1, 1, "lost"), (2, 2, "succeeded")]


@pytest.mark.settings(JOB_LEASE_SECONDS="0.3")
async def test_run_when_its_end_is_requested_then_cancelled_within_a_heartbeat(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    step = Held()
    job_id, task = await begin(app, mailroom, worker, step)
    await app.db.execute("UPDATE jobs SET cancel_requested = true")

    await task

    assert step.was_cancelled
    assert (await job_row(app.db, job_id))["state"] == "cancelled"
    assert await runs_of(app.db, job_id) == [(1, 1, "cancelled")]
    assert await app.db.fetch_dicts("SELECT 1 AS one FROM outbox") == []


async def test_drain_when_a_run_ends_in_time_then_it_ends_as_it_would(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    step = Held()
    job_id, task = await begin(app, mailroom, worker, step)
    drained = asyncio.create_task(worker.heart.drain(within_s=10))
    step.may_end.set()
    await asyncio.gather(drained, task)
    assert await runs_of(app.db, job_id) == [(1, 1, "succeeded")]


async def test_drain_when_a_run_does_not_end_then_given_back_with_its_steps_and_its_attempt(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    step = Held()
    job_id, task = await begin(app, mailroom, worker, step)
    await asyncio.gather(worker.heart.drain(within_s=0.05), task)

    assert step.was_cancelled
    row = await job_row(app.db, job_id)
    assert (row["state"], row["attempts"], row["last_error"]) == ("queued", 0, None)
    assert await runs_of(app.db, job_id) == [(1, 1, "shutdown")]


async def test_message_when_the_process_ends_then_left_for_another_one(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    job_id = await accept(app)
    [text] = await announce(app, mailroom)
    await worker.heart.drain(within_s=0)
    with pytest.raises(ShuttingDown):
        await worker.work(text)
    assert (await job_row(app.db, job_id))["state"] == "queued"
