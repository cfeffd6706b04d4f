"""SIGTERM: the runs are drained first, then the process ends as it would have ended."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from shared.shutdown import on_terminate
from shared.timing import under_way

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to catch"),
    pytest.mark.skipif(
        threading.current_thread() is not threading.main_thread(), reason="only a main thread can catch signals"
    ),
]


@pytest.fixture
def ended() -> Iterator[asyncio.Event]:
    """Set when the handler that was there before ours is called."""
    happened = asyncio.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        happened.set()

    before = signal.signal(signal.SIGTERM, end)
    yield happened
    signal.signal(signal.SIGTERM, before)


async def test_terminate_when_runs_are_under_way_then_drained_once_and_then_handed_on(ended: asyncio.Event) -> None:
    drained: list[float] = []
    may_drain = asyncio.Event()

    async def drain(*, within_s: float) -> None:
        await may_drain.wait()
        drained.append(within_s)
        assert not ended.is_set()

    on_terminate(drain, within_s=5)
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    may_drain.set()

    async with asyncio.timeout(5):
        await ended.wait()
    assert drained == [5]


async def test_terminate_when_a_request_is_under_way_then_it_is_answered_first(ended: asyncio.Event) -> None:
    order: list[str] = []
    may_answer = asyncio.Event()

    async def request() -> None:
        with under_way.one():
            await may_answer.wait()
            assert not ended.is_set()
            order.append("answered")

    async def drain(*, within_s: float) -> None:
        order.append("drained")
        may_answer.set()

    asking = asyncio.create_task(request())
    on_terminate(drain, within_s=5)
    os.kill(os.getpid(), signal.SIGTERM)

    async with asyncio.timeout(5):
        await ended.wait()
        await asking
    assert order == ["drained", "answered"]


async def test_terminate_when_not_in_the_main_thread_then_nothing_is_changed() -> None:
    async def drain(*, within_s: float) -> None:
        raise AssertionError

    before = signal.getsignal(signal.SIGTERM)
    await asyncio.to_thread(on_terminate, drain, within_s=5)
    assert signal.getsignal(signal.SIGTERM) is before
