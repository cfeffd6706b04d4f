"""A run's clocks and its reasons to stop. Times pass on a clock of the test's own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from shared.db import Database
from shared.jobs.claim import Claim
from shared.runs.run import Heart, Run, Stopped


class Clock:
    """A monotonic clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class TakenAway(Heart):
    """A heart that finds out at its next beat that the run is somebody else's by now."""

    run: Run
    beats = 0

    async def beat(self) -> None:
        self.beats += 1
        self.run.stop("lost")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    with monkeypatch.context() as patched:
        patched.setattr(time, "monotonic", made)
        yield made


@pytest.fixture
def heart() -> Heart:
    return Heart(Database("postgresql://nobody@127.0.0.1:1/never_opened", pool_size=1), lease_s=30)


def run_of(heart: Heart, clock: Clock, *, deadline_s: float = 120, ran_s: float = 0, slice_s: float = 1200) -> Run:
    claim = Claim(
        job_id=7,
        run=1,
        kind="ticket",
        ticket_id=500001,
        workspace_id="team_42",
        actor="customer:C-0022",
        input={},
        attempts=1,
        max_attempts=5,
        deadline_s=deadline_s,
        ran_s=ran_s,
        cancel_requested=False,
        request_id=str(uuid4()),
        traceparent=None,
        wants_approval=False,
        age_s=0.0,
        saved={},
    )
    return Run(claim, heart, claimed_at=clock(), slice_s=slice_s)


async def test_run_when_it_waits_then_that_time_does_not_count(heart: Heart, clock: Clock) -> None:
    run = run_of(heart, clock)
    clock.now += 10
    with run.waiting():
        clock.now += 5
        assert (run.ran_s, run.waited_s) == (10, 5)
        with run.waiting():
            clock.now += 5
        clock.now += 1
    clock.now += 2
    assert (run.ran_s, run.waited_s) == (12, 11)


async def test_run_when_waiting_ends_in_an_error_then_the_clock_runs_on(heart: Heart, clock: Clock) -> None:
    run = run_of(heart, clock)
    with pytest.raises(KeyError), run.waiting():
        clock.now += 5
        raise KeyError
    clock.now += 1
    assert (run.ran_s, run.waited_s) == (1, 5)


async def test_run_when_earlier_runs_took_time_then_less_is_left(heart: Heart, clock: Clock) -> None:
    run = run_of(heart, clock, deadline_s=120, ran_s=100)
    clock.now += 15
    assert run.seconds_left == 5
    clock.now += 15
    assert run.seconds_left == -10


async def test_check_when_all_is_well_then_nothing(heart: Heart, clock: Clock) -> None:
    run = run_of(heart, clock)
    clock.now += 29
    await run.check()


async def test_check_when_the_lease_is_over_then_it_has_to_be_extended_first(clock: Clock) -> None:
    heart = TakenAway(Database("postgresql://nobody@127.0.0.1:1/never_opened", pool_size=1), lease_s=30)
    heart.run = run_of(heart, clock)
    await heart.run.check()
    assert heart.beats == 0
    clock.now += 31
    with pytest.raises(Stopped) as stopped:
        await heart.run.check()
    assert (stopped.value.reason, heart.beats) == ("lost", 1)


async def test_slice_when_over_then_told_but_calls_of_the_step_at_work_go_on(heart: Heart, clock: Clock) -> None:
    run = run_of(heart, clock, slice_s=20)
    assert not run.slice_is_over
    clock.now += 21
    assert run.slice_is_over
    await run.check()


async def test_check_when_process_ends_then_stopped(heart: Heart, clock: Clock) -> None:
    run = run_of(heart, clock)
    await heart.drain(within_s=1)
    with pytest.raises(Stopped) as stopped:
        await run.check()
    assert stopped.value.reason == "shutdown"


async def test_stop_when_asked_twice_then_the_first_reason_stands_and_the_work_ends(heart: Heart, clock: Clock) -> None:
    run = run_of(heart, clock)
    work = asyncio.create_task(asyncio.Event().wait())
    run.works_in(work)

    run.stop("lost")
    run.stop("deadline")

    with pytest.raises(asyncio.CancelledError):
        await work
    assert run.stopped == "lost"
    with pytest.raises(Stopped) as stopped:
        await run.check()
    assert stopped.value.reason == "lost"
