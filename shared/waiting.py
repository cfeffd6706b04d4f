"""Callers who wait for a job to change: one poller a process asks for all of them, in one statement every 300 ms.

No connection is held while somebody waits. The first look is the poller's too: what counts as a change is judged
against the row as it was when the poller first saw it for this caller, unless the caller says what it has seen.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from dataclasses import dataclass, field

from shared.db import Database
from shared.errors import DatabaseUnavailable
from shared.jobs import reading
from shared.jobs.reading import Awaited, JobWay, Look
from shared.jobs.states import FINISHED

EVERY_S = 0.3
PATIENCE_S = 2.5  # beyond the time that a caller waits: for a database that does not answer


@dataclass(eq=False)
class Waiter:
    """One caller: what they wait for, until when, and how the job stood at their first look."""

    job_id: int
    ends: float
    answer: asyncio.Future[JobWay | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    state: str | None = None
    progress: int | None = None

    @property
    def look(self) -> Look:
        return Look(self.job_id, self.state, self.progress, is_late=time.monotonic() >= self.ends)

    def see(self, look: Look, now: Awaited | None) -> None:
        """Take note of how the job stands, and answer when there is something to say."""
        if self.answer.done():
            return
        if now is None:
            self.answer.set_result(None)
            return
        is_changed = self.state is not None and (self.state, self.progress) != (now.state, now.progress)
        if now.way is not None and (look.is_late or is_changed or now.state in FINISHED):
            self.answer.set_result(now.way)
        elif self.state is None:
            self.state, self.progress = now.state, now.progress


class WaitingRoom:
    """Everybody of this process who waits."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.waiters: set[Waiter] = set()
        self._poller: asyncio.Task[None] | None = None

    @property
    def is_polling(self) -> bool:
        return self._poller is not None and not self._poller.done()

    async def wait(self, job_id: int, *, for_s: float, seen: tuple[str, int] | None = None) -> JobWay | None:
        """The job once its state or progress has changed, or as it is after `for_s` seconds; None when there is none.

        What was `seen` before (state, progress) is what a change is judged against; without it, the first look.
        Raises DatabaseUnavailable, at the latest 2.5 s after that time.
        """
        waiter = Waiter(job_id, time.monotonic() + for_s)
        if seen is not None:
            waiter.state, waiter.progress = seen
        self.waiters.add(waiter)
        if not self.is_polling:
            self._poller = asyncio.create_task(self._poll(), name="waiting-room", context=contextvars.Context())
        try:
            async with asyncio.timeout(for_s + PATIENCE_S):
                return await waiter.answer
        except TimeoutError:
            raise DatabaseUnavailable from None
        finally:
            self.waiters.discard(waiter)

    async def _poll(self) -> None:
        while self.waiters:
            began = time.monotonic()
            looks = [(waiter, waiter.look) for waiter in self.waiters]
            try:
                rows = await reading.awaited(self._db, [look for _, look in looks])
            except Exception as exc:  # theirs to answer; those who came meanwhile are asked for the next time
                for waiter, _ in looks:
                    if not waiter.answer.done():
                        waiter.answer.set_exception(exc)
            else:
                found = {row.job_id: row for row in rows}
                for waiter, look in looks:
                    waiter.see(look, found.get(waiter.job_id))
            await asyncio.sleep(max(0.0, began + EVERY_S - time.monotonic()))
