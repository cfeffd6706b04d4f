"""Queues in this process, with the storage queue's contract and a test's hand on it: what is put can be lost, doubled,
delayed, hidden and taken out of order, and a put can fail in every way."""

from __future__ import annotations

import base64
import itertools
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from shared.errors import QueueUnavailable
from shared.queues.storage import Held, QueueRefused, Queues

PutFault = Literal["refused", "away", "answer_lost"]


@dataclass
class Stored:
    """A message on a queue; `text` is raw, and `receipt` that of the last one who took it."""

    message_id: str
    text: str
    receipt: str = ""
    is_hidden: bool = False

    @property
    def body(self) -> str:
        """What the trigger hands to a function."""
        return base64.b64decode(self.text).decode()


class Postbox(Queues):
    """The queues by name. Hidden messages stay hidden until `show_all`; `fault` is what happens to every put, and
    `meanwhile` what others do with the message before the one who put it hears of it."""

    def __init__(self) -> None:
        """There is no storage account behind it."""
        self.fault: PutFault | None = None
        self.meanwhile: Callable[[str, str], Awaitable[None]] | None = None
        self._queues: defaultdict[str, list[Stored]] = defaultdict(list)
        self._numbers = itertools.count(1)

    async def put(self, queue: str, text: str) -> str:
        if self.fault == "refused":
            raise QueueRefused(f"queue {queue} refused the message: RequestBodyTooLarge")
        if self.fault == "away":
            raise QueueUnavailable(f"queue {queue}: gone")
        message_id = self.add(queue, text)
        if self.meanwhile is not None:
            await self.meanwhile(queue, text)
        if self.fault == "answer_lost":
            raise QueueUnavailable(f"queue {queue}: no answer within 4 s")
        return message_id

    async def length(self, queue: str) -> int:
        return len(self._queues[queue])

    async def shows_nothing(self, queue: str) -> bool:
        return not self.visible(queue)

    async def take(self, queue: str, *, hide_s: int) -> list[Held]:
        taken = self.visible(queue)[:32]
        for message in taken:
            message.is_hidden, message.receipt = True, str(next(self._numbers))
        return [Held(message.message_id, message.receipt, message.text) for message in taken]

    async def delete(self, queue: str, message_id: str, pop_receipt: str) -> bool:
        found = [one for one in self._queues[queue] if (one.message_id, one.receipt) == (message_id, pop_receipt)]
        for message in found:
            self._queues[queue].remove(message)
        return bool(found)

    async def answers(self, queue: str) -> bool:
        return True

    async def close(self) -> None:
        """Nothing is open."""

    def add(self, queue: str, text: str) -> str:
        """Put a raw text by hand; the message's id."""
        message_id = f"m{next(self._numbers)}"
        self._queues[queue].append(Stored(message_id, text))
        return message_id

    def visible(self, queue: str) -> list[Stored]:
        return [message for message in self._queues[queue] if not message.is_hidden]

    def all(self, queue: str) -> list[Stored]:
        """Every message, hidden ones too."""
        return list(self._queues[queue])

    def remove(self, queue: str, message: Stored) -> None:
        """Take a message away by hand."""
        self._queues[queue].remove(message)

    def clear(self, queue: str) -> None:
        self._queues[queue].clear()

    def show_all(self) -> None:
        """Let the time pass for which messages are hidden."""
        for message in itertools.chain.from_iterable(self._queues.values()):
            message.is_hidden = False
