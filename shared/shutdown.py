"""SIGTERM in a worker process: give the jobs back and answer who is waiting, then end as the process would have."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable
from types import FrameType
from typing import Protocol

from shared.timing import under_way

LAST_ANSWERS_S = 0.2  # for answers that have left the app and not yet the worker


class Drain(Protocol):
    def __call__(self, *, within_s: float) -> Awaitable[None]: ...


def on_terminate(drain: Drain, *, within_s: float) -> None:
    """Call `drain` when SIGTERM comes, and hand the signal on to whoever had it before once that is done.

    Does nothing outside the main thread, where Python allows no signal handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGTERM)
    tasks: set[asyncio.Task[None]] = set()

    async def drain_then_end() -> None:
        await drain(within_s=within_s)
        await under_way.answered(within_s=within_s)
        await asyncio.sleep(LAST_ANSWERS_S)
        signal.signal(signal.SIGTERM, before)
        os.kill(os.getpid(), signal.SIGTERM)

    def start() -> None:
        if not tasks:
            tasks.add(loop.create_task(drain_then_end()))

    def handle(_signal: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(start)

    signal.signal(signal.SIGTERM, handle)
