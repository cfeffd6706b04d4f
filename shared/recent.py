"""One answer for everybody who asks the same within a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """What `ask` answered, kept for `keep_s` seconds; who asks meanwhile gets the same. Failures are not kept."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, T]], *, keep_s: float) -> None:
        self._ask = ask
        self._keep_s = keep_s
        self._asked_at = float("-inf")
        self._answer: asyncio.Task[T] | None = None

    async def get(self) -> T:
        """Raises what `ask` raises."""
        loop = asyncio.get_running_loop()
        if self._answer is None or self._is_over(self._answer, loop.time()):
            self._asked_at = loop.time()
            self._answer = loop.create_task(self._ask())
            self._answer.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return await asyncio.shield(self._answer)  # one who gives up does not take it from the others

    def _is_over(self, answer: asyncio.Task[T], now: float) -> bool:
        has_failed = answer.done() and (answer.cancelled() or answer.exception() is not None)
        return has_failed or (answer.done() and now - self._asked_at >= self._keep_s)
