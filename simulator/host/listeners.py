"""The listeners of an app: at work from the start of the host until it stops, or until a drain (functions-host A12)."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from simulator.host.host_stop import HostStop

log = logging.getLogger(__name__)


class Listener(Protocol):
    """One function's listener."""

    async def listen(self, stop: asyncio.Event) -> None:
        """Work until `stop`, then settle what runs. Raises HostStop."""


class Listeners:
    """Starts and stops listeners together; `fail` is told why when one of them has to end the host."""

    def __init__(self, listeners: Iterable[Listener], fail: Callable[[str], None]) -> None:
        self._listeners = list(listeners)
        self._fail = fail
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def are_draining(self) -> bool:
        return self._stop.is_set()

    def start(self) -> None:
        """Begin, or begin again after `stop`."""
        self._stop = asyncio.Event()
        self._tasks = [asyncio.create_task(self._watch(listener)) for listener in self._listeners]

    def stop(self) -> None:
        """Take on nothing new; what runs is settled in its own time, see `wait_until_settled`."""
        self._stop.set()

    async def wait_until_settled(self) -> None:
        await asyncio.gather(*self._tasks)

    async def drop(self) -> None:
        """Let go of everything, as a host that is killed: nothing more is written to storage."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self, listener: Listener) -> None:
        try:
            await listener.listen(self._stop)
        except HostStop as stop:
            self._fail(str(stop))
        except Exception as error:
            log.exception("A listener has a defect")
            self._fail(repr(error))
