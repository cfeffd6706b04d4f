"""Who looks into the queues during a replay, as the recording's observer did."""

from typing import Protocol

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueMessage

from tests.replay.events import Event
from tests.replay.queues import Queues
from tests.replay.tags import Tags

LOOK_S = 1  # how long a look hides what it sees


class Watched(Protocol):
    """What is looked at beside the queues."""

    @property
    def is_alive(self) -> bool: ...


class Observer:
    """Looks into the queues, past the proxy."""

    def __init__(self, queues: Queues, tags: Tags) -> None:
        self._queues = queues
        self._tags = tags

    async def look(self, wanted: Event, host: Watched) -> list[Event]:
        """Make an observation of the recording again."""
        what, queue = wanted.what, wanted.queue
        if what == "process alive":
            return [_seen("process alive" if host.is_alive else "process gone", queue)]
        try:
            return await self._look(what, queue)
        except ResourceNotFoundError:
            return [_seen("no queue", queue)]

    async def _look(self, what: str, queue: str) -> list[Event]:
        client = self._queues.open(queue)
        if what == "queue length":
            properties = await client.get_queue_properties()
            return [_seen(what, queue, count=properties.approximate_message_count)]
        fetched = client.receive_messages(messages_per_page=32, visibility_timeout=LOOK_S)
        messages = [message async for message in fetched]
        if what == "found in poison queue":
            return [self._describe_copy(queue, message) for message in messages]
        seen = [(self._queues.tag(message.id), message.dequeue_count) for message in messages]
        return [_seen("visible", queue, tag=tag, count=count) for tag, count in seen or [("", None)]]

    def _describe_copy(self, queue: str, message: QueueMessage) -> Event:
        if message.inserted_on is None or message.expires_on is None:
            raise AssertionError("a fetched message has its times")
        return _seen(
            "found in poison queue",
            queue,
            tag=self._tags.of_copy(message.content or ""),
            text=message.content,
            count=message.dequeue_count,
            seconds=int((message.expires_on - message.inserted_on).total_seconds()),
        )


def _seen(
    what: str,
    queue: str,
    *,
    tag: str = "",
    text: str | None = None,
    count: int | None = None,
    seconds: int | None = None,
) -> Event:
    return Event(at_s=0.0, who="observer", what=what, queue=queue, tag=tag, text=text, count=count, seconds=seconds)
