"""A fault switch: the process dies just before or just after a commit or a put of it, and does nothing from then on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from shared import db as shared_db
from shared.db import Connection, Database
from shared.queues.storage import Held, Queues

T = TypeVar("T")

Side = Literal["before", "after"]


class Crash(BaseException):
    """The process is dead."""


@dataclass
class Switch:
    """Notes what goes out, one at a time, and springs at `at`: a name and how often it had passed before, or never."""

    at: tuple[str, int] | None = None
    side: Side = "before"
    passed: list[str] = field(default_factory=list)
    has_sprung: bool = False
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def points(self) -> list[tuple[str, int]]:
        """All that passed, as places to spring at."""
        return [(name, self.passed[:at].count(name)) for at, name in enumerate(self.passed)]

    async def guard(self, what: str, action: Callable[[], Awaitable[T]]) -> T:
        """Do it, unless the process is dead; `what` names it for people."""
        async with self._turn:
            if self.has_sprung:
                raise Crash
            is_the_one = (what, self.passed.count(what)) == self.at
            self.passed.append(what)
            if is_the_one and self.side == "before":
                self.has_sprung = True
                raise Crash
            answer = await action()
            if is_the_one:
                self.has_sprung = True
                raise Crash
            return answer


class CrashingDatabase(Database):
    """Another one's connections, through the switch."""

    def __init__(self, inner: Database, switch: Switch) -> None:
        self._inner = inner
        self._switch = switch

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, in_transaction: bool = False) -> T:
        return await self._switch.guard(asker(), lambda: self._inner.run(work, in_transaction=in_transaction))


class CrashingQueues(Queues):
    """Another one's queues, through the switch."""

    def __init__(self, inner: Queues, switch: Switch) -> None:
        self._inner = inner
        self._switch = switch

    async def put(self, queue: str, text: str) -> str:
        return await self._switch.guard(f"put on {queue}", lambda: self._inner.put(queue, text))

    async def length(self, queue: str) -> int:
        return await self._switch.guard(f"length of {queue}", lambda: self._inner.length(queue))

    async def shows_nothing(self, queue: str) -> bool:
        return await self._switch.guard(f"peek at {queue}", lambda: self._inner.shows_nothing(queue))

    async def take(self, queue: str, *, hide_s: int) -> list[Held]:
        return await self._switch.guard(f"take from {queue}", lambda: self._inner.take(queue, hide_s=hide_s))

    async def delete(self, queue: str, message_id: str, pop_receipt: str) -> bool:
        return await self._switch.guard(
            f"delete from {queue}", lambda: self._inner.delete(queue, message_id, pop_receipt)
        )


def asker() -> str:
    """Which function of the app wants the statement: `claim.save_step`."""
    frame = sys._getframe(1)
    on_the_way = (__file__, shared_db.__file__, frame.f_code.co_filename)
    while frame.f_back is not None and frame.f_code.co_filename in on_the_way:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"
