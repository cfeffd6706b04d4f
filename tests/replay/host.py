"""A host with nothing but queue listeners, as the recordings' console program was."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from azure.storage.queue.aio import QueueClient

from simulator.host.host_stop import HostStop
from simulator.host.queue_listener import QueueListener
from simulator.host.queue_names import poison_queue_name
from simulator.host.queue_settings import QueueSettings, QueueTimes
from simulator.host.queue_storage import QueueStorage
from simulator.host.queue_wakeups import QueueWakeups
from tests.replay.function import Function, Report
from tests.replay.tags import write_body

CLEAN_EXIT = 0
ABORTED = -6  # how the recordings' console program ended on an unhandled exception


class Host:
    """`async with Host(...) as host`: `start`, then `stop` or `drain`, then `exited`."""

    def __init__(
        self, connection: str, queues: tuple[str, ...], settings: QueueSettings, times: QueueTimes, report: Report
    ) -> None:
        self._connection = connection
        self._queues = queues
        self._settings = settings
        self._times = times
        self._report = report
        self._stop = asyncio.Event()
        self._stopping = asyncio.Event()
        self._is_draining = False
        self._clients = AsyncExitStack()

    async def __aenter__(self) -> Self:
        wakeups = QueueWakeups()
        self._listeners = [await self._open_listener(queue, wakeups) for queue in self._queues]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.cancel()
        await asyncio.wait([self._running])
        await self._clients.aclose()

    async def start(self) -> float:
        """Return when it started, by time.time()."""
        self._running = asyncio.create_task(self._listen())
        return time.time()

    def stop(self) -> None:
        self._stop.set()

    def drain(self) -> None:
        """Stop polling without cancelling what runs; the process stays (R49)."""
        self._is_draining = True
        self._stop.set()

    async def exited(self) -> int:
        """Wait until it has ended and return its exit code."""
        return await asyncio.shield(self._running)

    @property
    def is_alive(self) -> bool:
        """Also after a drain: that ends the polling, not the process."""
        return self._is_draining or not self._running.done()

    async def emit(self, queue: str, body: Mapping[str, Any]) -> None:
        """Send as an output binding of this host would: it creates the queue and wakes nobody (R27, R39)."""
        storage = QueueStorage(await self._open_client(queue), self._times)
        await storage.add(write_body(body, self._settings.message_encoding))

    async def send(self, queue: str, body: Mapping[str, Any]) -> None:
        """Send as a client of the function's own would (R28)."""
        client = await self._open_client(queue)
        await client.send_message(write_body(body, self._settings.message_encoding))

    async def _listen(self) -> int:
        exit_code = CLEAN_EXIT
        try:
            async with asyncio.TaskGroup() as group:
                for listener in self._listeners:
                    group.create_task(listener.listen(self._stop))
        except* HostStop:
            exit_code = ABORTED
        return exit_code

    async def _open_listener(self, queue: str, wakeups: QueueWakeups) -> QueueListener:
        poison = poison_queue_name(queue)
        function = Function(self._report, lambda body: self.emit(queue, body), self._stopping)
        return QueueListener(
            await self._open_client(queue),
            await self._open_client(poison) if poison else None,
            self._settings,
            function.run,
            f"Function on {queue}",
            wakeups=wakeups,
            on_stop=self._cancel_tokens,
            times=self._times,
        )

    async def _open_client(self, queue: str) -> QueueClient:
        client = QueueClient.from_connection_string(self._connection, queue)
        return await self._clients.enter_async_context(client)

    def _cancel_tokens(self) -> None:
        if not self._is_draining:
            self._stopping.set()
