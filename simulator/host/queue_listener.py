"""The queue trigger's listener: polls one queue and runs its function, as Microsoft's was recorded to do."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from azure.storage.queue.aio import QueueClient

from simulator.host.host_stop import HostStop
from simulator.host.queue_message import QueueDelivery, Undecodable, decode_body
from simulator.host.queue_polling import PollWaits
from simulator.host.queue_settings import QueueSettings, QueueTimes
from simulator.host.queue_storage import QueueStorage
from simulator.host.queue_wakeups import QueueWakeups
from simulator.host.queue_work import QueueWork, Run

log = logging.getLogger(__name__)


class QueueListener:
    """One function's listener.

    `queue` and `poison` are clients without encode policies; `poison` is None where there is no such queue
    (see queue_names). `run` says whether the function succeeded; it does not raise, and lets a cancellation
    through. Listeners of one host share `wakeups`. `on_stop` is called when polling has ended while runs may
    go on: the moment at which the genuine listener cancels the functions' tokens (R46). A drain is a stop
    without it (R49).
    """

    def __init__(
        self,
        queue: QueueClient,
        poison: QueueClient | None,
        settings: QueueSettings,
        run: Run,
        name: str,
        *,
        wakeups: QueueWakeups | None = None,
        on_stop: Callable[[], None] | None = None,
        times: QueueTimes | None = None,
    ) -> None:
        self.name = name
        self._times = times or QueueTimes()
        self._settings = settings
        self._on_stop = on_stop
        self._queue = QueueStorage(queue, self._times)
        wakeups = wakeups or QueueWakeups()
        self._woken = wakeups.register(self._queue.name)
        poison_queue = QueueStorage(poison, self._times) if poison else None
        self._work = QueueWork(self._queue, poison_queue, settings, self._times, run, wakeups)
        self._running: set[asyncio.Task[None]] = set()

    async def listen(self, stop: asyncio.Event) -> None:
        """Poll until `stop` is set, then return when all that runs is settled: there is no time limit (R47).

        A fetch in flight at that moment is dropped, and what it was given stays hidden (R49). Raises HostStop
        on a storage error that ends the host: all that runs is cancelled, nothing more is written (R50). A
        cancellation of this call does the same.
        """
        try:
            async with asyncio.TaskGroup() as group:
                polling = group.create_task(self._poll(group), name=f"{self.name}: polling")
                await stop.wait()
                polling.cancel()
                if self._on_stop:
                    self._on_stop()
        except BaseExceptionGroup as failures:
            cause = _first_cause(failures)
            raise cause from cause.__cause__

    async def _poll(self, group: asyncio.TaskGroup) -> None:
        waits = PollWaits(self._times.first_poll_s, self._settings.max_polling_interval_s)
        while True:
            self._woken.clear()
            batch = await self._fetch(group)
            for delivery, body in batch:
                task = group.create_task(self._work.do(delivery, body), name=f"{self.name}: {delivery.id}")
                self._running.add(task)
                task.add_done_callback(self._running.discard)
            if batch:
                waits.reset()
                await self._wait_for_room()
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(waits.next_s()):
                        await self._woken.wait()

    async def _fetch(self, group: asyncio.TaskGroup) -> list[tuple[QueueDelivery, bytes]]:
        """Get a batch; what cannot be decoded is dealt with here, one after the other (R30, R31)."""
        batch = []
        undecodable = []
        for delivery in await self._queue.fetch(self._settings.batch_size):
            try:
                batch.append((delivery, decode_body(delivery.text, self._settings.message_encoding)))
            except Undecodable:
                undecodable.append(delivery)
        for delivery in undecodable:
            # A stop ends the polling, but not between the copy and the deletion of a message that is being moved.
            await asyncio.shield(group.create_task(self._work.bury_undecodable(delivery)))
        return batch

    async def _wait_for_room(self) -> None:
        while len(self._running) > self._settings.new_batch_threshold:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)


def _first_cause(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the HostStop among the failures; else the first of them, which is a defect."""
    stops = failures.subgroup(HostStop)
    cause: BaseException = stops or failures
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return cause
