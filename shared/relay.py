"""The relay: from the outbox to the queues."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

from opentelemetry.trace import Span, SpanKind

from shared.db import Database
from shared.errors import DatabaseUnavailable, QueueUnavailable
from shared.log import logger
from shared.names import ticket_name, time_text
from shared.provider.lane import Lane
from shared.queues import outbox
from shared.queues.messages import SYSTEM, EventMessage, PoisonMessage, WorkMessage, encode
from shared.queues.outbox import Letter, Purpose
from shared.queues.storage import QueueRefused, Queues
from shared.retry import backoff_s
from shared.signals import SILENT, Signals, remote, traceparent_of

log = logger("relay")

BATCH = 16  # two rounds of 8 puts, each at most 4 s: within the 10 s that a row is ours
AT_ONCE = 8
MAX_PUTS = 5
HELD_LOOK_S = 0.3  # how often a pass looks whether the lane has room again
REFUSED_BASE_S = 2.0
REFUSED_CAP_S = 60.0


@dataclass
class Relay:
    """What a pass works with.

    `names` maps a queue of the database (`tickets`) to its name in the storage account; of jobs with the same share at
    most `share_limits[queue]` are announced and under way together.
    """

    db: Database
    queues: Queues
    lane: Lane
    names: Mapping[str, str]
    share_limits: Mapping[str, int]
    signals: Signals = SILENT
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # one connection for all passes of a process
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def hurry(self) -> None:
        """Something is due now: wake every pass that waits for what becomes due later."""
        told, self.news = self.news, asyncio.Event()
        told.set()

    async def run_pass(self, *, stay_s: float) -> None:
        """Put everything that is due, and what becomes due within `stay_s` seconds. Two passes at once are harmless."""
        ends = time.monotonic() + stay_s
        targets: list[tuple[str, Purpose]] = [
            (queue, purpose) for queue in self.names for purpose in ("work", "poison")
        ]
        await asyncio.gather(*(self._serve(queue, purpose, ends) for queue, purpose in targets))

    async def _serve(self, queue: str, purpose: Purpose, ends: float) -> None:
        try:
            while True:
                news = self.news
                if letters := await self._take(queue, purpose):
                    await self._put_all(queue, purpose, letters)
                elif not await self._wait_for_more(queue, purpose, ends, news):
                    return
        except QueueUnavailable as exc:
            # Nobody is charged: the rows are free again in 10 s at the latest, and the next pass tries.
            log.warning("relay: %s; %s messages wait", exc, queue)
        except DatabaseUnavailable:
            log.warning("relay: the database is away; %s messages wait", queue)

    async def _take(self, queue: str, purpose: Purpose) -> list[Letter]:
        async with self.turn:
            if purpose == "work":
                limit = self.share_limits[queue]
                return await outbox.take_work(self.db, queue, self.lane, share_limit=limit, limit=BATCH)
            return await outbox.take_poison(self.db, queue, limit=BATCH)

    async def _wait_for_more(self, queue: str, purpose: Purpose, ends: float, news: asyncio.Event) -> bool:
        left_s = ends - time.monotonic()
        if left_s <= 0:
            return False
        async with self.turn:
            is_held = purpose == "work" and await outbox.is_held(self.db, queue)
            wait_s = HELD_LOOK_S if is_held else await outbox.next_due_s(self.db, queue, purpose, within_s=left_s)
        if wait_s is None or wait_s > left_s:
            return False
        with suppress(TimeoutError):
            await asyncio.wait_for(news.wait(), wait_s + 0.005)
        return True

    async def _put_all(self, queue: str, purpose: Purpose, letters: list[Letter]) -> None:
        gate = asyncio.Semaphore(AT_ONCE)
        results = await asyncio.gather(
            *(self._put(queue, purpose, letter, gate) for letter in letters), return_exceptions=True
        )
        put = [letter for letter, result in zip(letters, results, strict=True) if result is None]
        if purpose == "work" and put:
            await outbox.sent(self.db, put)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _put(self, queue: str, purpose: Purpose, letter: Letter, gate: asyncio.Semaphore) -> bool | None:
        """None when the message is on the queue, False when the queue refused it."""
        async with gate:
            try:
                await (self._announce(queue, letter) if purpose == "work" else self._bury(queue, letter))
            except QueueRefused as exc:
                await self._refused(purpose, letter, str(exc))
                return False
        return None

    async def _announce(self, queue: str, letter: Letter) -> None:
        name = self.names[queue]
        with self._sending(name, letter) as span:
            await self.queues.put(name, encode(work_message(queue, letter, traceparent_of(span))))

    async def _bury(self, queue: str, letter: Letter) -> None:
        name = f"{self.names[queue]}-poison"
        with self._sending(name, letter):
            message_id = await self.queues.put(name, encode(poison_message(letter)))
        await outbox.poison_sent(self.db, letter, message_id)

    def _sending(self, name: str, letter: Letter) -> AbstractContextManager[Span]:
        """A span of the trace that the job's request began, whoever happens to run this pass."""
        return self.signals.span(
            f"send {name}",
            SpanKind.PRODUCER,
            parent=remote(letter.traceparent),
            attributes={
                "messaging.system": SYSTEM,
                "messaging.operation.name": "send",
                "messaging.destination.name": name,
                "job_id": letter.job_id,
                "kind": letter.kind,
            },
        )

    async def _refused(self, purpose: Purpose, letter: Letter, error: str) -> None:
        if purpose == "work" and letter.puts + 1 >= MAX_PUTS:
            if await outbox.undeliverable(self.db, letter, error):
                log.error("job %d: failed (undeliverable): %s", letter.job_id, error)
            return
        wait_s = backoff_s(letter.puts + 1, base_s=REFUSED_BASE_S, cap_s=REFUSED_CAP_S, draw=1.0)
        await outbox.refused(self.db, letter, error, wait_s=wait_s)
        log.warning(
            "job %d: its %s message was refused, next try in %.0f s: %s",
            letter.job_id,
            purpose,
            wait_s,
            error,
        )


def work_message(queue: str, letter: Letter, traceparent: str | None) -> WorkMessage | EventMessage:
    if queue == "webhooks":
        return EventMessage(event_id=letter.job_id, delivery=letter.delivery, traceparent=traceparent)
    return WorkMessage(job_id=letter.job_id, delivery=letter.delivery, traceparent=traceparent)


def poison_message(letter: Letter) -> PoisonMessage:
    error = letter.last_error or {}
    return PoisonMessage(
        job_id=letter.job_id,
        delivery=letter.delivery,
        kind=letter.kind,
        ticket_id=ticket_name(letter.ticket_id),
        attempts=letter.attempts,
        error={"code": error.get("code"), "message": error.get("message")},
        dead_lettered_at=time_text(letter.finished_at) if letter.finished_at else "",
        request_id=letter.request_id,
    )
