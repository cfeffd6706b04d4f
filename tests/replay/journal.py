"""The book in which a replay writes down what it sees, and the fair copy in the recording's words."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from tests.replay.events import Event, Got
from tests.replay.tags import Tags
from tests.replay.wire import Receipt, Request


@dataclass(frozen=True)
class _Line:
    event: Event
    message_id: str = ""
    receipt: str = ""
    given: tuple[Receipt, ...] = ()


class Journal:
    """Collects events by message id and raw receipt; names are given at the end, when all of them are known.

    `started_at` is the host's start by time.time(), from which all times count.
    """

    def __init__(self) -> None:
        self.started_at = time.time()
        self._lines: list[_Line] = []
        self._has_grown = asyncio.Event()

    def now_s(self) -> float:
        return time.time() - self.started_at

    def write(self, event: Event, message_id: str = "") -> None:
        self._add(_Line(event, message_id))

    def write_request(
        self, request: Request, queue: str, at_s: float, status: str, given: list[Receipt], late_s: float = 0.0
    ) -> None:
        """Write a request down once its answer is known; `given` are the receipts in it.

        `late_s` is for how long the answer will be kept back.
        """
        event = Event(
            at_s=at_s,
            answered_at_s=self.now_s() + late_s,
            who="listener",
            what=request.what,
            queue=queue,
            status=status,
            seconds=request.seconds,
            count=request.count,
            has_body=request.has_body,
            text=request.text,
        )
        self._add(_Line(event, request.message_id, request.receipt, tuple(given)))

    def count_polls(self) -> int:
        return sum(line.event.what in {"get", "exists"} for line in self._lines)

    async def grow_until(self, is_enough: Callable[[], bool], deadline_s: float) -> None:
        """Wait until what is written is enough, or until `deadline_s` on the journal's clock."""
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline_s - self.now_s()):
                while not is_enough():
                    self._has_grown.clear()
                    await self._has_grown.wait()

    def receipt_of(self, message_id: str) -> str:
        """Return the receipt that a message was last given by a GET."""
        given = [given for line in self._lines if line.event.what == "get" for given in line.given]
        return next(each.receipt for each in reversed(given) if each.message_id == message_id)

    def runs(self) -> list[Event]:
        """Return the function's events so far, in order."""
        return [line.event for line in self._lines if line.event.who == "function"]

    def copy_fair(self, known: Mapping[str, str], tags: Tags) -> list[Event]:
        """Return all events in order of time with names for messages and receipts; `known` names ids put by hand."""
        lines = sorted(self._lines, key=lambda line: line.event.at_s)
        names = dict(known)
        for line in lines:
            if line.event.what == "add" and line.event.text is not None and line.given:
                copy = line.event.queue.endswith("-poison")
                name = tags.of_copy(line.event.text) if copy else tags.of_text(line.event.text)
                names.setdefault(line.given[0].message_id, name)
        return [_name(line, names, receipts, tags) for receipts in [_Receipts()] for line in lines]

    def _add(self, line: _Line) -> None:
        self._lines.append(line)
        self._has_grown.set()


class _Receipts:
    """Numbers each message's receipts in order of issue."""

    def __init__(self) -> None:
        self._issued: dict[str, list[str]] = {}

    def issue(self, message_id: str, receipt: str) -> str:
        self._issued.setdefault(message_id, []).append(receipt)
        return f"r{len(self._issued[message_id])}"

    def number(self, message_id: str, receipt: str) -> str:
        issued = self._issued.get(message_id, [])
        return f"r{issued.index(receipt) + 1}" if receipt in issued else "r?"


def _name(line: _Line, names: Mapping[str, str], receipts: _Receipts, tags: Tags) -> Event:
    event = line.event
    if event.what == "get":
        got = tuple(
            Got(
                names.get(given.message_id, "?"),
                given.dequeue_count,
                receipts.issue(given.message_id, given.receipt),
            )
            for given in line.given
        )
        return replace(event, got=got)
    if event.what == "add" and event.text is not None:
        return replace(event, tag=tags.of_text(event.text))
    if not line.message_id:
        return event
    receipt = receipts.number(line.message_id, line.receipt) if line.receipt else ""
    new = [receipts.issue(line.message_id, given.receipt) for given in line.given]
    return replace(event, tag=names.get(line.message_id, "?"), receipt=receipt, new_receipt=new[0] if new else "")
