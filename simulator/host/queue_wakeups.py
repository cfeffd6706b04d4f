"""How a move to a poison queue wakes the listener of that queue in the same host (recorded listener, R26)."""

import asyncio
from collections import defaultdict


class QueueWakeups:
    """One registry for all queue listeners of a host."""

    def __init__(self) -> None:
        self._sleepers: defaultdict[str, list[asyncio.Event]] = defaultdict(list)

    def register(self, queue: str) -> asyncio.Event:
        """Return an event that is set whenever the host moves a message to that queue."""
        event = asyncio.Event()
        self._sleepers[queue].append(event)
        return event

    async def wake(self, queue: str) -> None:
        """Wake the queue's listeners, and let them send their request before the caller goes on."""
        for event in self._sleepers[queue]:
            event.set()
        await asyncio.sleep(0)
