"""The queues of one replay, as its driver and its observer use them: past the proxy, under the recording's names."""

from types import TracebackType
from typing import Self

from azure.storage.queue.aio import QueueClient, QueueServiceClient

from tests.replay.scenario import Input
from tests.replay.tags import UNKNOWN, write_body


class Queues:
    """`async with Queues(connection, prefix) as queues`; the prefix keeps replays on one service apart."""

    def __init__(self, connection: str, prefix: str) -> None:
        self.tags_by_id: dict[str, str] = {}
        self._prefix = prefix
        self._service = QueueServiceClient.from_connection_string(connection)

    async def __aenter__(self) -> Self:
        await self._service.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._service.__aexit__(kind, error, trace)

    def full_name(self, queue: str) -> str:
        return self._prefix + queue

    def open(self, queue: str) -> QueueClient:
        return self._service.get_queue_client(self.full_name(queue))

    async def put(self, action: Input, encoding: str) -> None:
        """Put a message as an input of the recording has it."""
        fields = action.fields
        text = fields["text"] if "text" in fields else write_body(fields["body"], encoding)
        sent = await self.open(action.queue).send_message(
            text, time_to_live=fields.get("ttl"), visibility_timeout=fields.get("delay")
        )
        self.tags_by_id[sent.id] = fields["tag"] if "tag" in fields else fields["body"]["tag"]

    async def deliver_idly(self, queue: str, times: int) -> None:
        """Fetch every message so many times and release it again, which raises its count."""
        client = self.open(queue)
        for _ in range(times):
            fetched = client.receive_messages(messages_per_page=32, max_messages=32, visibility_timeout=30)
            for message in [message async for message in fetched]:
                await client.update_message(message, visibility_timeout=0)

    def tag(self, message_id: str) -> str:
        return self.tags_by_id.get(message_id, UNKNOWN)

    def find(self, tag: str) -> str:
        """Return the id of the message with this tag, or of the first one if none has it."""
        return next((key for key, value in self.tags_by_id.items() if value == tag), next(iter(self.tags_by_id)))
