"""The function of the recordings: it does what the message's body says."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from simulator.host.queue_message import QueueDelivery
from tests.replay.events import Event
from tests.replay.tags import read_body

Report = Callable[[Event, str], None]  # an event, its time as of time.time(), and the id of its message
Emit = Callable[[Mapping[str, Any]], Awaitable[None]]


class Function:
    """Bodies are `{tag, sleep, fail, honour, emit, exit}`; `stopping` stands for the genuine cancellation token."""

    def __init__(self, report: Report, emit: Emit, stopping: asyncio.Event) -> None:
        self._report = report
        self._emit = emit
        self._stopping = stopping

    async def run(self, delivery: QueueDelivery) -> bool:
        """Run one delivery and say whether it succeeded."""
        body = read_body(delivery.text)
        started_at = time.monotonic()
        self._say("start", delivery, delivery.dequeue_count, delivery.text)
        if "exit" in body:
            os._exit(body["exit"])
        if "emit" in body:
            await self._emit(body["emit"])
            self._say("emitted", delivery)
        if await self._is_cancelled_within(body.get("sleep", 0)):
            if body.get("honour"):
                self._say("cancelled", delivery)
                return False
            self._say("token-cancelled", delivery)
            await asyncio.sleep(started_at + body["sleep"] - time.monotonic())
        self._say("fail" if body.get("fail") else "end", delivery)
        return not body.get("fail")

    async def _is_cancelled_within(self, sleep_s: float) -> bool:
        """Sleep, but return at once and true if the token is cancelled meanwhile."""
        if not sleep_s:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(sleep_s):
                await self._stopping.wait()
                return True
        return False

    def _say(self, what: str, delivery: QueueDelivery, count: int | None = None, text: str | None = None) -> None:
        self._report(Event(at_s=time.time(), who="function", what=what, count=count, text=text), delivery.id)
