"""What happens to one fetched message: the run, then its deletion, release or move to poison (R19-R36)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from simulator.host.queue_message import QueueDelivery, encode_body
from simulator.host.queue_settings import QueueSettings, QueueTimes
from simulator.host.queue_storage import QueueStorage
from simulator.host.queue_wakeups import QueueWakeups

log = logging.getLogger(__name__)

Run = Callable[[QueueDelivery], Awaitable[bool]]


@dataclass
class Hold:
    """Our claim to a message: its id and the newest receipt."""

    id: str
    receipt: str


class QueueWork:
    """The treatment of messages of one queue. Every method raises HostStop on an error that ends the host."""

    def __init__(
        self,
        queue: QueueStorage,
        poison: QueueStorage | None,
        settings: QueueSettings,
        times: QueueTimes,
        run: Run,
        wakeups: QueueWakeups,
    ) -> None:
        self._queue = queue
        self._poison = poison
        self._settings = settings
        self._times = times
        self._run = run
        self._wakeups = wakeups

    async def do(self, delivery: QueueDelivery, body: bytes) -> None:
        """See one decoded message through: it keeps its place until the last request is answered (R15)."""
        hold = Hold(delivery.id, delivery.pop_receipt)
        most = self._settings.max_dequeue_count
        if self._poison and delivery.dequeue_count > most:
            await self._bury(hold, self._poison, body)
        elif await self._run_held(hold, delivery, body):
            await self._queue.delete(hold.id, hold.receipt)
        elif self._poison and delivery.dequeue_count >= most:
            await self._bury(hold, self._poison, body)
        elif self._poison:
            await self._queue.hide(hold.id, hold.receipt, self._settings.visibility_timeout_s)
        # Without a poison queue a failed message stays hidden for the rest of its time (R35).

    async def bury_undecodable(self, delivery: QueueDelivery) -> None:
        """Move a message that cannot be decoded, as it is; without a poison queue only log it (R30, R32)."""
        log.warning("Message decoding has failed! Check MessageEncoding settings. MessageId=%s.", delivery.id)
        if self._poison:
            await self._move(Hold(delivery.id, delivery.pop_receipt), self._poison, delivery.text)

    async def _run_held(self, hold: Hold, delivery: QueueDelivery, body: bytes) -> bool:
        try:
            text = body.decode()
        except UnicodeDecodeError:
            log.warning(
                "Queue message's body cannot be converted to string because it contains non-UTF8 bytes, message id=%s",
                delivery.id,
            )
            return False
        async with asyncio.TaskGroup() as group:
            renewal = group.create_task(self._renew(hold))
            succeeded = await self._run(replace(delivery, text=text))
            renewal.cancel()
        return succeeded

    async def _renew(self, hold: Hold) -> None:
        while True:
            await asyncio.sleep(self._times.renewal_s)
            receipt = await self._queue.hide(hold.id, hold.receipt, self._times.hidden_s)
            if receipt is None:
                return
            hold.receipt = receipt

    async def _bury(self, hold: Hold, poison: QueueStorage, body: bytes) -> None:
        await self._move(hold, poison, encode_body(body, self._settings.message_encoding))

    async def _move(self, hold: Hold, poison: QueueStorage, text: str) -> None:
        log.warning(
            "Message has reached MaxDequeueCount of %d. Moving message to queue '%s'.",
            self._settings.max_dequeue_count,
            poison.name,
        )
        await poison.add(text)
        await self._wakeups.wake(poison.name)
        await self._queue.delete(hold.id, hold.receipt)
