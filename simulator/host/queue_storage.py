"""One queue as a listener uses it: each call knows which errors are taken calmly and which end the host."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from azure.core.exceptions import AzureError, HttpResponseError, ResourceExistsError
from azure.storage.queue.aio import QueueClient

from simulator.host.host_stop import HostStop
from simulator.host.queue_message import QueueDelivery
from simulator.host.queue_settings import QueueTimes
from simulator.host.storage_tries import describe, error_code, is_message_lost, is_queue_away, try_again

log = logging.getLogger(__name__)

T = TypeVar("T")

# The Python library's own pauses differ from the genuine client's, so it makes one try and we count to six.
ONE_TRY: dict[str, Any] = {"retry_total": 0}


class QueueStorage:
    """A queue client with the genuine listener's nerves (recorded listener, R50-R57)."""

    def __init__(self, client: QueueClient, times: QueueTimes) -> None:
        self.name = client.queue_name
        self._client = client
        self._times = times
        self._is_known_to_exist = False

    async def fetch(self, count: int) -> list[QueueDelivery]:
        """Get up to `count` messages, hidden from others and with their text as it is stored.

        Nothing where the queue is missing, being deleted, or storage answers 5xx to the last try (R52, R56).
        The check that the queue exists is made once, and again after any error (R1, R37).
        Raises HostStop for every other error.
        """
        try:
            self._is_known_to_exist = self._is_known_to_exist or await self._try(self._exists)
            return await self._try(partial(self._receive, count)) if self._is_known_to_exist else []
        except AzureError as error:
            self._is_known_to_exist = False
            if not is_queue_away(error):
                raise self._stop_host(error) from error
            log.debug("queue '%s': %s; polling goes on", self.name, describe(error))
            return []

    async def delete(self, message_id: str, receipt: str) -> None:
        """Delete a message; no matter if it is not ours any more. Raises HostStop."""
        await self._settle(partial(self._client.delete_message, message_id, receipt, **ONE_TRY))

    async def hide(self, message_id: str, receipt: str, hidden_s: int) -> str | None:
        """Hide a message for so many seconds from now, its text untouched (R20, R40).

        Returns the new receipt; None if the message is not ours any more. Raises HostStop.
        """
        update = partial(
            self._client.update_message,
            message_id,
            receipt,
            visibility_timeout=hidden_s,
            **ONE_TRY,
        )
        updated = await self._settle(update)
        return updated.pop_receipt if updated else None

    async def add(self, text: str) -> None:
        """Add a message with the default lifetime; create a missing queue (R22, R23). Raises HostStop."""
        send = partial(self._client.send_message, text, **ONE_TRY)
        try:
            try:
                await self._try(send)
            except HttpResponseError as error:
                if error_code(error) != "QueueNotFound":
                    raise
                await self._try(self._create)
                await self._try(send)
        except AzureError as error:
            raise self._stop_host(error) from error

    async def _exists(self) -> bool:
        try:
            await self._client.get_queue_properties(**ONE_TRY)
        except HttpResponseError as error:
            if error_code(error) == "QueueNotFound":
                return False
            raise
        return True

    async def _create(self) -> None:
        # Several moves at once each create the queue; the library makes an error of the latecomers' 204.
        with suppress(ResourceExistsError):
            await self._client.create_queue(**ONE_TRY)

    async def _receive(self, count: int) -> list[QueueDelivery]:
        messages = self._client.receive_messages(
            messages_per_page=count, visibility_timeout=self._times.hidden_s, **ONE_TRY
        )
        async for page in messages.by_page():
            return [_read(message) async for message in page]
        return []

    async def _settle(self, call: Callable[[], Awaitable[T]]) -> T | None:
        try:
            return await self._try(call)
        except AzureError as error:
            if not is_message_lost(error):
                raise self._stop_host(error) from error
            log.debug("queue '%s': %s; the message is not ours any more", self.name, describe(error))
            return None

    async def _try(self, call: Callable[[], Awaitable[T]]) -> T:
        return await try_again(call, tries=self._times.tries, first_gap_s=self._times.first_retry_s)

    def _stop_host(self, error: AzureError) -> HostStop:
        return HostStop(f"storage queue '{self.name}': {describe(error)}")


def _read(message: Any) -> QueueDelivery:
    # Not typed as QueueMessage: most of its fields may be None, because it stands for sent messages as well.
    return QueueDelivery(
        id=message.id,
        text=message.content or "",
        dequeue_count=message.dequeue_count,
        pop_receipt=message.pop_receipt,
        inserted_at=message.inserted_on,
        expires_at=message.expires_on,
        next_visible_at=message.next_visible_on,
    )
