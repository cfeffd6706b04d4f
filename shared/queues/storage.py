"""The way to Azure Storage Queues: put a text, and say which kind of trouble there was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError, HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue.aio import QueueServiceClient

from shared.errors import QueueUnavailable
from shared.settings import SettingsError

PUT_TIMEOUT_S = 4.0
CALL_TIMEOUT_S = 4.0
ANSWER_TIMEOUT_S = 2.0
LARGEST_PAGE = 32  # what the service gives in one call
PATIENCE: dict[str, Any] = {"retry_total": 0, "connection_timeout": PUT_TIMEOUT_S, "read_timeout": PUT_TIMEOUT_S}
NEVER = -1  # messages do not expire: the database decides when one has had its day


class QueueRefused(Exception):
    """The queue service answered that this message can never be stored (400, 413)."""


@dataclass(frozen=True)
class Held:
    """A message taken for a while; `text` is raw, as it is stored."""

    message_id: str
    pop_receipt: str
    text: str


@asynccontextmanager
async def told(queue: str, within_s: float) -> AsyncIterator[None]:
    """Turn the SDK's errors into QueueRefused (400, 413) or QueueUnavailable (all others, and no answer in time)."""
    try:
        async with asyncio.timeout(within_s):
            yield
    except (TimeoutError, OSError) as exc:
        raise QueueUnavailable(f"queue {queue}: no answer within {within_s:.0f} s") from exc
    except HttpResponseError as exc:
        if exc.status_code in (400, 413):
            raise QueueRefused(f"queue {queue} refused the message: {_code(exc)}") from exc
        raise QueueUnavailable(f"queue {queue}: {_code(exc)}") from exc
    except AzureError as exc:
        raise QueueUnavailable(f"queue {queue}: {type(exc).__name__}") from exc


class Queues:
    """A client of one storage account, with no retries of its own: the outbox is what tries again.

    It asks for queues and messages and nothing of the account, so that rights on the queues are enough
    (Storage Queue Data Contributor).
    """

    def __init__(self, service: QueueServiceClient) -> None:
        self._service = service

    @classmethod
    def connect(cls, connection_string: str) -> Queues:
        """With the setting JobsQueue. Raises SettingsError, which shows nothing of it."""
        try:
            return cls(QueueServiceClient.from_connection_string(connection_string, **PATIENCE))
        except ValueError:
            raise SettingsError("JobsQueue: no connection string of a storage account") from None

    @classmethod
    def sign_in(cls, account_url: str, identity: AsyncTokenCredential) -> Queues:
        return cls(QueueServiceClient(account_url, credential=identity, **PATIENCE))

    async def put(self, queue: str, text: str) -> str:
        """Put `text` on `queue`, which is made when it is missing; the message's id.

        Raises QueueRefused, QueueUnavailable.
        """
        async with told(queue, PUT_TIMEOUT_S):
            try:
                return await self._put(queue, text)
            except ResourceNotFoundError:
                await self._create(queue)
                return await self._put(queue, text)

    async def length(self, queue: str) -> int:
        """About how many messages the queue holds, hidden ones too; 0 for a queue that does not exist."""
        async with told(queue, CALL_TIMEOUT_S):
            try:
                properties = await self._service.get_queue_client(queue).get_queue_properties()
            except ResourceNotFoundError:
                return 0
            return int(properties.approximate_message_count or 0)

    async def shows_nothing(self, queue: str) -> bool:
        """Whether no message is visible on the queue."""
        async with told(queue, CALL_TIMEOUT_S):
            try:
                return not await self._service.get_queue_client(queue).peek_messages(max_messages=1)
            except ResourceNotFoundError:
                return True

    async def take(self, queue: str, *, hide_s: int) -> list[Held]:
        """Up to 32 messages, hidden from others for `hide_s` seconds; [] when none is visible."""
        async with told(queue, CALL_TIMEOUT_S):
            pages = self._service.get_queue_client(queue).receive_messages(
                messages_per_page=LARGEST_PAGE, visibility_timeout=hide_s, max_messages=LARGEST_PAGE
            )
            try:
                return [Held(str(m.id), str(m.pop_receipt), str(m.content)) async for m in pages]
            except ResourceNotFoundError:
                return []

    async def delete(self, queue: str, message_id: str, pop_receipt: str) -> bool:
        """Delete a message; False when somebody else has taken it or it is gone."""
        async with told(queue, CALL_TIMEOUT_S):
            try:
                await self._service.get_queue_client(queue).delete_message(message_id, pop_receipt)
            except HttpResponseError as exc:
                if exc.status_code in (400, 404):
                    return False
                raise
            return True

    async def answers(self, queue: str) -> bool:
        """Whether the queue service lets us look at `queue`; it may be that there is none yet."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await self.shows_nothing(queue)
        except (QueueUnavailable, QueueRefused, TimeoutError):
            return False
        return True

    async def close(self) -> None:
        await self._service.close()

    async def _put(self, queue: str, text: str) -> str:
        message = await self._service.get_queue_client(queue).send_message(text, time_to_live=NEVER)
        return str(message.id)

    async def _create(self, queue: str) -> None:
        try:
            await self._service.create_queue(queue)
        except ResourceExistsError:
            return
        except HttpResponseError as exc:
            if exc.status_code == 403:
                raise QueueUnavailable(
                    f"queue {queue} does not exist, and the app has no right to make it; a deployment makes all queues"
                ) from exc
            raise


def _code(error: HttpResponseError) -> str:
    """The service's own word for what went wrong, or the status, or what stopped us from asking."""
    word = getattr(error, "error_code", None)
    return str(getattr(word, "value", word) or error.status_code or error.message)  # a word the SDK knows is an Enum
