"""The way to Azure Storage Queues: put a text, and say which kind of trouble there was."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from azure.core.exceptions import AzureError, HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue.aio import QueueServiceClient

from shared.errors import QueueUnavailable

PUT_TIMEOUT_S = 4.0
NEVER = -1  # messages do not expire: the database decides when one has had its day


class QueueRefused(Exception):
    """The queue service answered that this message can never be stored (400, 413)."""


@dataclass(frozen=True)
class PutReceipt:
    """What names a message for its later deletion."""

    message_id: str
    pop_receipt: str


class Queues:
    """A client of one storage account, with no retries of its own: the outbox is what tries again."""

    def __init__(self, service: QueueServiceClient) -> None:
        self._service = service

    @classmethod
    def connect(cls, connection_string: str) -> Queues:
        return cls(
            QueueServiceClient.from_connection_string(
                connection_string, retry_total=0, connection_timeout=PUT_TIMEOUT_S, read_timeout=PUT_TIMEOUT_S
            )
        )

    async def put(self, queue: str, text: str) -> PutReceipt:
        """Put `text` on `queue`, which is made when it is missing. Raises QueueRefused or QueueUnavailable."""
        try:
            async with asyncio.timeout(PUT_TIMEOUT_S):
                try:
                    return await self._put(queue, text)
                except ResourceNotFoundError:
                    await self._create(queue)
                    return await self._put(queue, text)
        except (TimeoutError, OSError) as exc:
            raise QueueUnavailable(f"queue {queue}: no answer within {PUT_TIMEOUT_S:.0f} s") from exc
        except HttpResponseError as exc:
            if exc.status_code in (400, 413):
                raise QueueRefused(f"queue {queue} refused the message: {_code(exc)}") from exc
            raise QueueUnavailable(f"queue {queue}: {_code(exc)}") from exc
        except AzureError as exc:
            raise QueueUnavailable(f"queue {queue}: {type(exc).__name__}") from exc

    async def answers(self) -> bool:
        """Whether the queue service can be reached."""
        try:
            async with asyncio.timeout(2):
                await self._service.get_service_properties()
        except (AzureError, TimeoutError, OSError):
            return False
        return True

    async def close(self) -> None:
        await self._service.close()

    async def _put(self, queue: str, text: str) -> PutReceipt:
        message = await self._service.get_queue_client(queue).send_message(text, time_to_live=NEVER)
        return PutReceipt(str(message.id), str(message.pop_receipt))

    async def _create(self, queue: str) -> None:
        try:
            await self._service.create_queue(queue)
        except ResourceExistsError:
            return


def _code(error: HttpResponseError) -> str:
    """The service's own word for what went wrong, or the status where it said none."""
    return str(getattr(error, "error_code", None) or error.status_code)
