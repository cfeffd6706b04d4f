"""The kick: a pass started by whoever made work for it, in the background, so that nobody has to wait for a timer.

Nothing relies on a kick; the timer is the guarantee.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable

from shared.log import logger

log = logger("passes")

KICK_LIMIT_S = 10.0


class Kick:
    """Coalesces kicks: at most one pass at a time, and one more when a kick came while it was running."""

    def __init__(self, run_pass: Callable[[], Awaitable[None]]) -> None:
        self._run_pass = run_pass
        self._wanted = False
        self._task: asyncio.Task[None] | None = None

    def __call__(self) -> None:
        self._wanted = True
        if self._task is None or self._task.done():
            # A fresh context: the pass is not part of the request that happened to start it.
            self._task = asyncio.create_task(self._run(), name="kick", context=contextvars.Context())

    async def settled(self) -> None:
        """Wait until no kick is at work."""
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while self._wanted:
            self._wanted = False
            try:
                async with asyncio.timeout(KICK_LIMIT_S):
                    await self._run_pass()
            except Exception:
                log.exception("a kicked pass failed; the timer's pass will do its work")
