"""The kick: in the background, never two at once, and never an error for the one who kicked."""

from __future__ import annotations

import asyncio
import contextvars

import pytest

from shared.passes import Kick

asker: contextvars.ContextVar[str] = contextvars.ContextVar("asker", default="nobody")


class Passes:
    """Passes that run until they are let go."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun = 0
        self.at_once = 0
        self.most_at_once = 0
        self.askers: list[str] = []
        self.is_under_way = asyncio.Event()
        self.may_end = asyncio.Event()
        self._error = error

    async def __call__(self) -> None:
        self.begun += 1
        self.is_under_way.set()
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.askers.append(asker.get())
        try:
            await self.may_end.wait()
        finally:
            self.at_once -= 1
        if self._error is not None:
            raise self._error


async def test_kick_then_returns_at_once_and_a_pass_runs() -> None:
    passes = Passes()
    kick = Kick(passes, limit_s=10)
    kick()
    assert passes.begun == 0
    passes.may_end.set()
    await kick.settled()
    assert passes.begun == 1


async def test_kick_when_many_come_during_a_pass_then_one_more_runs_after_it() -> None:
    passes = Passes()
    kick = Kick(passes, limit_s=10)
    kick()
    await passes.is_under_way.wait()
    for _ in range(10):
        kick()
    passes.may_end.set()
    await kick.settled()
    assert (passes.begun, passes.most_at_once) == (2, 1)


async def test_kick_when_it_comes_after_a_pass_then_another_runs() -> None:
    passes = Passes()
    passes.may_end.set()
    kick = Kick(passes, limit_s=10)
    for _ in range(3):
        kick()
        await kick.settled()
    assert passes.begun == 3


async def test_kick_when_a_pass_fails_then_logged_and_the_next_one_runs(caplog: pytest.LogCaptureFixture) -> None:
    passes = Passes(ValueError("broken"))
    kick = Kick(passes, limit_s=10)
    kick()
    await passes.is_under_way.wait()
    kick()
    passes.may_end.set()
    await kick.settled()
    assert passes.begun == 2
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


async def test_kick_then_the_pass_knows_nothing_of_the_request_that_started_it() -> None:
    passes = Passes()
    passes.may_end.set()
    asker.set("somebody")
    kick = Kick(passes, limit_s=10)
    kick()
    await kick.settled()
    assert passes.askers == ["nobody"]


async def test_kick_when_a_pass_hangs_then_it_is_cut_off_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    passes = Passes()
    kick = Kick(passes, limit_s=0.01)
    kick()
    await kick.settled()
    assert (passes.begun, passes.at_once) == (1, 0)
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_kick_when_it_only_wants_a_look_and_somebody_just_had_one_then_no_pass() -> None:
    passes = Passes()
    passes.may_end.set()
    kick = Kick(passes, limit_s=10)
    kick(every_s=60)
    await kick.settled()
    kick(every_s=60)
    await kick.settled()
    assert passes.begun == 1
    kick()
    await kick.settled()
    assert passes.begun == 2


async def test_stop_when_a_pass_is_at_work_then_it_ends() -> None:
    passes = Passes()
    kick = Kick(passes, limit_s=10)
    await kick.stop()
    kick()
    await passes.is_under_way.wait()
    await kick.stop()
    assert passes.at_once == 0


async def test_settled_when_nobody_kicked_then_at_once() -> None:
    async with asyncio.timeout(1):
        await Kick(Passes(), limit_s=10).settled()
