"""What tests handle: the queues of one test, and tickets to send."""

from __future__ import annotations

import base64
import json
import secrets
from types import TracebackType
from typing import Any, Self

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueMessage
from azure.storage.queue.aio import QueueClient, QueueServiceClient


class Mailroom:
    """The queues of one test, under names nobody else uses."""

    def __init__(self, connection_string: str) -> None:
        self.connection_string = connection_string
        self.tickets = f"tickets-{secrets.token_hex(4)}"
        self._service = QueueServiceClient.from_connection_string(connection_string)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        async for queue in self._service.list_queues(name_starts_with=self.tickets):
            await self._service.delete_queue(queue.name)
        await self._service.close()

    def queue(self, name: str) -> QueueClient:
        return self._service.get_queue_client(name)

    async def take(self, name: str) -> list[QueueMessage]:
        """Take every visible message off a queue; [] for a queue that does not exist."""
        queue = self.queue(name)
        taken = []
        try:
            async for message in queue.receive_messages(messages_per_page=32, visibility_timeout=60):
                taken.append(message)
                await queue.delete_message(message)
        except ResourceNotFoundError:
            return []
        return taken

    async def take_texts(self, name: str) -> list[str]:
        """The same, as the trigger hands them to a function."""
        return [base64.b64decode(message.content).decode() for message in await self.take(name)]

    async def peek(self, name: str) -> list[dict[str, Any]]:
        """What a person sees on a queue (at most 32)."""
        try:
            messages = await self.queue(name).peek_messages(max_messages=32)
        except ResourceNotFoundError:
            return []
        return [json.loads(base64.b64decode(message.content)) for message in messages]
