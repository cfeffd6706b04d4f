"""What the recorded scenarios do not show: our listener's own promises, at a real Azurite."""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from azure.storage.queue import QueueMessage
from azure.storage.queue.aio import QueueClient

from simulator.host.host_stop import HostStop
from simulator.host.queue_listener import QueueListener
from simulator.host.queue_message import QueueDelivery
from simulator.host.queue_settings import QueueSettings, QueueTimes
from simulator.stack.azurite import ACCOUNT_KEY, Azurite

PLAIN = QueueSettings(message_encoding="none", max_polling_interval_s=0.1)
SOON_S = 10


class Room:
    """A function that holds all its runs until they are let go; it counts them."""

    def __init__(self) -> None:
        self.deliveries: list[QueueDelivery] = []
        self.let_go = asyncio.Event()
        self._changed = asyncio.Condition()

    async def run(self, delivery: QueueDelivery) -> bool:
        async with self._changed:
            self.deliveries.append(delivery)
            self._changed.notify_all()
        await self.let_go.wait()
        return True

    async def holds(self, count: int) -> None:
        async with asyncio.timeout(SOON_S), self._changed:
            await self._changed.wait_for(lambda: len(self.deliveries) >= count)


class CountingQueue(QueueClient):
    """Counts the renewals of each message."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.renewals: Counter[str] = Counter()
        self.renewed = asyncio.Event()

    async def update_message(self, message: str | QueueMessage, *arguments: Any, **options: Any) -> QueueMessage:
        self.renewals[str(message)] += 1
        self.renewed.set()
        return await super().update_message(message, *arguments, **options)


class SlowQueue(QueueClient):
    """Sends only when it may."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def send_message(self, *arguments: Any, **options: Any) -> QueueMessage:
        self.is_asked.set()
        await self.may_answer.wait()
        return await super().send_message(*arguments, **options)


@pytest.fixture
async def queue(azurite: Azurite) -> AsyncIterator[CountingQueue]:
    client = CountingQueue.from_connection_string(azurite.connection_string, f"listener-{secrets.token_hex(4)}")
    async with client:
        await client.create_queue()
        yield client


@asynccontextmanager
async def listening(
    queue: QueueClient, settings: QueueSettings, room: Room, times: QueueTimes | None = None
) -> AsyncIterator[asyncio.Task[None]]:
    """Let a listener listen; on leaving, stop it politely."""
    stop = asyncio.Event()
    listener = QueueListener(queue, None, settings, room.run, "Room", times=times)
    task = asyncio.create_task(listener.listen(stop))
    yield task
    stop.set()
    room.let_go.set()
    await asyncio.wait([task], timeout=SOON_S)


async def count_messages(queue: QueueClient) -> int | None:
    return (await queue.get_queue_properties()).approximate_message_count


async def test_threshold_above_the_batch_then_fetches_on_at_once(queue: QueueClient) -> None:
    """R16: 32/100 takes 32, 32 and 16."""
    await asyncio.gather(*(queue.send_message(str(number)) for number in range(80)))
    room = Room()
    settings = QueueSettings(32, 100, message_encoding="none", max_polling_interval_s=0.1)
    async with listening(queue, settings, room):
        await room.holds(80)
    assert len({delivery.id for delivery in room.deliveries}) == 80
    assert await count_messages(queue) == 0


async def test_delivery_then_tells_the_message_as_the_service_has_it(queue: QueueClient) -> None:
    sent = await queue.send_message("grüße", time_to_live=-1)
    room = Room()
    async with listening(queue, PLAIN, room):
        await room.holds(1)
    delivery = room.deliveries[0]
    assert (delivery.id, delivery.text, delivery.dequeue_count) == (sent.id, "grüße", 1)
    assert delivery.expires_at.year == 9999
    assert (delivery.next_visible_at - delivery.inserted_at).total_seconds() == pytest.approx(600, abs=SOON_S)
    assert delivery.inserted_at.microsecond == 0


async def test_cancelled_listener_then_writes_nothing_more(queue: QueueClient) -> None:
    await queue.send_message("held")
    room = Room()
    async with listening(queue, PLAIN, room) as task:
        await room.holds(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        room.let_go.set()
    assert await count_messages(queue) == 1
    assert [message async for message in queue.receive_messages(messages_per_page=1)] == []


async def test_message_taken_away_then_renewed_once_and_no_more(queue: CountingQueue) -> None:
    """R41; the recording watched for less than a second renewal's time."""
    for text in ("taken", "kept"):
        await queue.send_message(text)
    room = Room()
    async with listening(queue, PLAIN, room, QueueTimes(renewal_s=0.2)):
        await room.holds(2)
        taken, kept = sorted(room.deliveries, key=lambda delivery: delivery.text, reverse=True)
        await queue.delete_message(taken.id, taken.pop_receipt)
        async with asyncio.timeout(SOON_S):
            while queue.renewals[kept.id] < 5:
                queue.renewed.clear()
                await queue.renewed.wait()
    assert queue.renewals[taken.id] == 1
    assert await count_messages(queue) == 0


async def test_stop_in_the_middle_of_a_move_then_the_move_is_finished(azurite: Azurite, queue: QueueClient) -> None:
    await queue.send_message("no base64!")
    async with SlowQueue.from_connection_string(azurite.connection_string, f"{queue.queue_name}-poison") as poison:
        stop = asyncio.Event()
        listener = QueueListener(queue, poison, QueueSettings(), Room().run, "Room")
        task = asyncio.create_task(listener.listen(stop))
        await asyncio.wait_for(poison.is_asked.wait(), SOON_S)
        stop.set()
        await asyncio.sleep(0)
        poison.may_answer.set()
        await asyncio.wait_for(task, SOON_S)
        assert [await count_messages(queue), await count_messages(poison)] == [0, 1]


async def test_listener_after_a_stop_then_can_listen_again(queue: QueueClient) -> None:
    room = Room()
    room.let_go.set()
    listener = QueueListener(queue, None, PLAIN, room.run, "Room")
    for number in (1, 2):
        stop = asyncio.Event()
        task = asyncio.create_task(listener.listen(stop))
        await queue.send_message(str(number))
        await room.holds(number)
        stop.set()
        await asyncio.wait_for(task, SOON_S)
    assert [delivery.text for delivery in room.deliveries] == ["1", "2"]
    assert await count_messages(queue) == 0


async def test_storage_refuses_then_host_stop_names_queue_and_reason(azurite: Azurite) -> None:
    wrong = azurite.connection_string.replace(ACCOUNT_KEY, "d3Jvbmc=")
    async with QueueClient.from_connection_string(wrong, "some-queue") as queue:
        listener = QueueListener(queue, None, PLAIN, Room().run, "Room")
        with pytest.raises(HostStop, match=r"^storage queue 'some-queue': AuthenticationFailed$") as stop:
            await listener.listen(asyncio.Event())
    assert stop.value.__cause__ is not None
