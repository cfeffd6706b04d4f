"""Where a request's time goes, and how many requests this process is in the middle of."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds that the request at hand has spent so far, by name; None outside a request.
spent: contextvars.ContextVar[dict[str, float] | None] = contextvars.ContextVar("spent", default=None)


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Count the time inside towards the request at hand."""
    began = time.perf_counter()
    try:
        yield
    finally:
        if (totals := spent.get()) is not None:
            totals[name] = totals.get(name, 0.0) + time.perf_counter() - began


class UnderWay:
    """Requests that have begun and not been answered."""

    def __init__(self) -> None:
        self._count = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1

    async def answered(self, *, within_s: float) -> None:
        """Wait until all have been answered, but not longer than `within_s` seconds."""
        ends = time.monotonic() + within_s
        while self._count and time.monotonic() < ends:  # noqa: ASYNC110 - at the very end, and seldom
            await asyncio.sleep(0.02)


under_way = UnderWay()
