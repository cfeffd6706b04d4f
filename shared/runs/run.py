"""The runs of this process: their clocks, their lease, their end; and the one heart that beats for all of them."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from shared.db import Database, insist
from shared.errors import DatabaseUnavailable
from shared.jobs import claim as claims
from shared.jobs import leave
from shared.jobs.claim import Claim
from shared.log import about, logger

log = logger("runs")

T = TypeVar("T")

PATIENCE_S = 120.0  # how long a run waits for the database before it gives up
BEATS_PER_LEASE = 3

Stop = Literal["lost", "cancelled", "deadline", "shutdown", "slice"]


class Stopped(Exception):
    """The run may not go on; `reason` says why."""

    def __init__(self, reason: Stop) -> None:
        super().__init__(reason)
        self.reason = reason


class Run:
    """One claimed job while this process works on it. Times are seconds on this process's monotonic clock."""

    def __init__(self, claim: Claim, heart: Heart, *, claimed_at: float, slice_s: float, yields: bool = False) -> None:
        self.claim = claim
        self.yields = yields
        self.heart = heart
        self.lease_until = claimed_at + heart.lease_s
        self.stopped: Stop | None = None
        self._began = claimed_at
        self._slice_s = slice_s
        self._waited_s = 0.0
        self._waiting_since: float | None = None
        self._hands = 1  # that could work at the same time
        self._waiting = 0  # of these
        self._task: asyncio.Task[Any] | None = None

    @property
    def waited_s(self) -> float:
        """Time that does not count as running: for the quota, for the database."""
        waiting = 0.0 if self._waiting_since is None else time.monotonic() - self._waiting_since
        return self._waited_s + waiting

    @property
    def ran_s(self) -> float:
        """Running time of this run so far."""
        return time.monotonic() - self._began - self.waited_s

    @property
    def seconds_left(self) -> float:
        """Until the job's deadline, over all its runs."""
        return self.claim.deadline_s - self.claim.ran_s - self.ran_s

    @property
    def slice_is_over(self) -> bool:
        """Whether it is time to end this run and go on in another one, at the next step border."""
        return time.monotonic() - self._began > self._slice_s

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The time inside does not count as running, if no other hand of the run works meanwhile."""
        self._count(waiting=+1)
        try:
            yield
        finally:
            self._count(waiting=-1)

    @contextmanager
    def side_by_side(self, hands: int) -> Iterator[None]:
        """So many hands work inside, each within `hand()`, instead of the one."""
        self._count(hands=hands - 1)
        try:
            yield
        finally:
            self._count(hands=1 - self._hands, waiting=-self._waiting)

    @contextmanager
    def hand(self) -> Iterator[None]:
        """One of the hands; when it is done, the others alone say whether the run waits."""
        try:
            yield
        finally:
            self._count(hands=-1)

    def _count(self, *, hands: int = 0, waiting: int = 0) -> None:
        self._hands += hands
        self._waiting += waiting
        is_waiting = self._waiting >= max(1, self._hands)
        if is_waiting and self._waiting_since is None:
            self._waiting_since = time.monotonic()
        elif not is_waiting and self._waiting_since is not None:
            self._waited_s += time.monotonic() - self._waiting_since
            self._waiting_since = None

    async def pause(self, seconds: float) -> None:
        """Sleep, not counted as running time."""
        with self.waiting():
            await asyncio.sleep(seconds)

    async def patiently(self, action: Callable[[], Awaitable[T]]) -> T:
        """Do it, again while the database is away, for 120 s; not counted as running time."""
        with self.waiting():
            return await insist(action, for_s=PATIENCE_S)

    def works_in(self, task: asyncio.Task[Any]) -> None:
        """Name the task that `stop` has to end."""
        self._task = task

    def stop(self, reason: Stop) -> None:
        """End the work now; the first reason stands."""
        if self.stopped is None:
            self.stopped = reason
            if self._task is not None:
                self._task.cancel()

    async def check(self) -> None:
        """To be awaited before every provider call and at every step border. Raises Stopped when no new call may be
        made, DatabaseUnavailable when the lease is over and Postgres stays away."""
        if self.heart.closing:
            raise Stopped("shutdown")
        if time.monotonic() > self.lease_until:
            await self.patiently(self.heart.beat)
        if self.stopped is not None:
            raise Stopped(self.stopped)


class Heart:
    """Extends the leases of all runs of the process, in one statement every third of a lease, while there are any."""

    def __init__(self, db: Database, *, lease_s: float, after_beat: Callable[[], None] = lambda: None) -> None:
        self.lease_s = lease_s
        self.closing = False
        self._db = db
        self._after_beat = after_beat
        self._runs: dict[tuple[int, int], Run] = {}
        self._owed: dict[tuple[int, int], Claim] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def beats_for(self, run: Run) -> Iterator[None]:
        key = (run.claim.job_id, run.claim.run)
        self._runs[key] = run
        self._idle.clear()
        self._start()
        try:
            yield
        finally:
            del self._runs[key]
            if not self._runs:
                self._idle.set()

    def owe(self, claim: Claim) -> None:
        """Remember a run that ended while Postgres was away: its job is given back as soon as it answers."""
        self._owed[claim.job_id, claim.run] = claim
        self._start()

    async def beat(self) -> None:
        """Extend all leases now; runs whose row has gone are stopped. Raises DatabaseUnavailable."""
        sent_at = time.monotonic()
        runs = dict(self._runs)
        beats = {
            (beat.job_id, beat.run): beat for beat in await claims.extend(self._db, list(runs), lease_s=self.lease_s)
        }
        for key, run in runs.items():
            beat = beats.get(key)
            if beat is None:
                run.stop("lost")
            else:
                run.lease_until = sent_at + self.lease_s
                if beat.cancel_requested:
                    run.stop("cancelled")

    async def drain(self, *, within_s: float) -> None:
        """No new call from now on; a run that does not end within `within_s` seconds is stopped and given back."""
        self.closing = True
        if not await self._idle_within(within_s):
            for run in list(self._runs.values()):
                run.stop("shutdown")
            await self._idle_within(within_s)

    async def _idle_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _start(self) -> None:
        if self._task is None or self._task.done():
            # A fresh context: the heart beats for all runs, not for the one that happened to start it.
            self._task = asyncio.create_task(self._beat_on(), name="heartbeat", context=contextvars.Context())

    async def _pay(self) -> None:
        for key, claim in list(self._owed.items()):
            left = await leave.give_back(self._db, claim, "lost", wait_s=0, waited_s=0)
            del self._owed[key]
            if left is not None:
                with about(**claim.facts):
                    log.info("job %d: %s (attempt %d), the database was away", claim.job_id, left.state, claim.attempts)

    async def _beat_on(self) -> None:
        while True:
            await asyncio.sleep(self.lease_s / BEATS_PER_LEASE)
            if not self._runs and not self._owed:
                return
            try:
                await self._pay()
                if self._runs:
                    await self.beat()
            except DatabaseUnavailable:
                log.warning("heartbeat: the database is away; %d runs hold on", len(self._runs))
            except Exception:  # a heart that stops would end every run of the process
                log.exception("heartbeat: unexpected error")
            self._after_beat()
