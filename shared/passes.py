"""The kicks: passes started by whoever made work for them, in the background, so that nobody waits for a timer.

A pass is due by what stands in Postgres, not by a timer: timers hang on a lease in the storage account, and fall
silent for minutes when its holder goes away. Nothing relies on a kick either; each is the other's net.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable

from shared.log import logger
from shared.relay import Relay
from shared.sweep import Sweep

log = logger("passes")

RELAY_STAY_S = 1.5
RELAY_LIMIT_S = 10.0
LOOK_EVERY_S = 2.0


class Kick:
    """Coalesces kicks: at most one pass at a time, and one more when a kick came while it was running.

    A pass is cut off after `limit_s` seconds.
    """

    def __init__(self, run_pass: Callable[[], Awaitable[None]], *, limit_s: float) -> None:
        self._run_pass = run_pass
        self._limit_s = limit_s
        self._wanted = False
        self._ended_at = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def __call__(self, *, every_s: float = 0.0) -> None:
        if time.monotonic() - self._ended_at < every_s:
            return
        self._wanted = True
        if self._task is None or self._task.done():
            # A fresh context: the pass is not part of the request that happened to start it.
            self._task = asyncio.create_task(self._run(), name="kick", context=contextvars.Context())

    async def settled(self) -> None:
        """Wait until no kick is at work."""
        if self._task is not None:
            await self._task

    async def stop(self) -> None:
        """End the pass that is at work; what it did not get to is the next one's."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while self._wanted:
            self._wanted = False
            try:
                async with asyncio.timeout(self._limit_s):
                    await self._run_pass()
            except Exception:
                log.exception("a kicked pass failed; the timer's pass will do its work")
            self._ended_at = time.monotonic()


class Kicks:
    """Both passes of the app, to be kicked as one."""

    def __init__(self, relay: Relay, sweep: Sweep) -> None:
        self._hurry = relay.hurry
        self.relay = Kick(lambda: relay.run_pass(stay_s=RELAY_STAY_S), limit_s=RELAY_LIMIT_S)
        self.sweep = Kick(sweep.run_pass, limit_s=sweep.longest_s)

    def __call__(self) -> None:
        """There is work: relay now."""
        self._hurry()
        self.relay()
        self.sweep(every_s=LOOK_EVERY_S)

    def look(self) -> None:
        """There may be work: look, unless somebody just has."""
        self.relay(every_s=LOOK_EVERY_S)
        self.sweep(every_s=LOOK_EVERY_S)

    async def settled(self) -> None:
        """Wait until no kick is at work."""
        await self.relay.settled()
        await self.sweep.settled()

    async def stop(self) -> None:
        """End both."""
        await self.relay.stop()
        await self.sweep.stop()
