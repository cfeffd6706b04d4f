"""host.json's limits on HTTP requests: how many run at once, how many more may wait (functions-host C4)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from simulator.host.host_json import HttpOptions


class TooManyRequests(Exception):
    """The request is to be refused with 429."""


class Throttle:
    """Without limits it lets everything through."""

    def __init__(self, options: HttpOptions) -> None:
        self._most_outstanding = options.most_outstanding
        self._outstanding = 0
        self._places = asyncio.Semaphore(options.most_concurrent) if options.most_concurrent > 0 else None

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold a place for one request, after a wait if need be. Raises TooManyRequests."""
        if 0 < self._most_outstanding <= self._outstanding:
            raise TooManyRequests
        self._outstanding += 1
        try:
            if self._places is None:
                yield
            else:
                async with self._places:
                    yield
        finally:
            self._outstanding -= 1
