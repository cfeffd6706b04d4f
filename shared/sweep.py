"""The sweep: what was lost is found, what nobody needs is deleted. It reads first and writes only where it must."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from shared.cleaning import clean
from shared.db import Database
from shared.errors import DatabaseUnavailable, QueueUnavailable
from shared.jobs import approvals, rescue
from shared.jobs.rescue import Look
from shared.log import logger
from shared.queues.poison import Poison
from shared.queues.storage import Queues

log = logger("sweep")

BATCH = 50
ASK_EVERY_S = 2.0
UNCLAIMED_S = 30.0
WATCHED_S = 10.0  # how long a process has to look on before it calls a message lost
CLEAN_EVERY_S = 60.0


@dataclass(frozen=True)
class Backoff:
    """For a job that lost its lease before, in seconds."""

    base_s: float
    cap_s: float


class Watch:
    """How long this process has looked on without a gap of more than `gap_s` seconds.

    After an outage, or in a fresh process, live heartbeats have to come first: only who has watched for half a lease
    may call a worker dead.
    """

    def __init__(self, gap_s: float) -> None:
        self._gap_s = gap_s
        self._since: float | None = None
        self._last: float | None = None

    def looked(self) -> float:
        """Note a look that Postgres has answered; seconds of unbroken looking so far."""
        now = time.monotonic()
        if self._since is None or self._last is None or now - self._last > self._gap_s:
            self._since = now
        self._last = now
        return now - self._since


@dataclass
class Sweep:
    """What a pass works with; `names` as in the relay. `report` tells those who watch from outside how things are."""

    db: Database
    queues: Queues
    poison: Poison
    names: Mapping[str, str]
    lease_s: float
    backoff: Backoff
    report: Callable[[], Awaitable[None]] | None = None
    watch: Watch = field(init=False)
    cleaned_at: float = field(init=False, default=float("-inf"))

    def __post_init__(self) -> None:
        self.watch = Watch(self.lease_s / 2)

    @property
    def longest_s(self) -> float:
        """What a pass may take, in seconds: it may have to watch for half a lease, and to clean after that."""
        return self.lease_s + 60

    async def run_pass(self) -> None:
        """Leases, lost messages, poison queues, old rows; each part for itself. Two passes at once are harmless."""
        parts = (self._leases, self._messages, self._approvals, self._poison, self._clean, self._report)
        for part in parts:
            try:
                await part()
            except QueueUnavailable as exc:
                log.warning("sweep: %s", exc)
            except DatabaseUnavailable:
                log.warning("sweep: the database is away")
                return
            except Exception:
                log.exception("sweep: %s failed; the other parts go on", part.__name__)

    async def _leases(self) -> None:
        if await self._is_sure(partial(rescue.look_for_leases, self.db), enough_s=self.lease_s / 2):
            while lost := await rescue.lose(
                self.db, lease_s=self.lease_s, base_s=self.backoff.base_s, cap_s=self.backoff.cap_s, limit=BATCH
            ):
                for job in lost:
                    log.info("job %d: %s (attempt %d), its worker went away", job.job_id, job.state, job.attempts)

    async def _messages(self) -> None:
        for queue, name in self.names.items():
            look = partial(rescue.look_for_silence, self.db, queue, patience_s=UNCLAIMED_S)
            if await self._is_sure(look, enough_s=min(WATCHED_S, self.lease_s / 3)):
                await self._announce_again(queue, name)

    async def _announce_again(self, queue: str, name: str) -> None:
        """Announce what nobody claimed, when a look at the queue or a later claim says that its message is lost."""
        is_empty = await self.queues.shows_nothing(name)
        while again := await rescue.announce_again(
            self.db, queue, queue_is_empty=is_empty, patience_s=UNCLAIMED_S, limit=BATCH
        ):
            for job in again:
                log.info("job %d: queued, announced again (lost %d times)", job.job_id, job.unclaimed)

    async def _is_sure(self, look: Callable[[], Awaitable[Look]], *, enough_s: float) -> bool:
        """Whether something seems to be lost, and this process and Postgres have been there long enough to say so.

        A pass that has not watched for `enough_s` seconds yet stays and asks again until it has.
        """
        ends = time.monotonic() + enough_s + 2 * ASK_EVERY_S
        while True:
            found = await look()
            watched_s = min(self.watch.looked(), found.database_up_s)
            if not found.is_any or watched_s >= enough_s:
                return found.is_any
            if time.monotonic() > ends:
                return False
            await asyncio.sleep(min(ASK_EVERY_S, self.lease_s / 4))

    async def _approvals(self) -> None:
        while expired := await approvals.expire(self.db, limit=BATCH):
            for job in expired:
                log.info("job %d: %s, nobody approved it in time", job.job_id, job.state)

    async def _poison(self) -> None:
        for queue in self.names:
            await self.poison.run_pass(queue)

    async def _clean(self) -> None:
        if time.monotonic() - self.cleaned_at >= CLEAN_EVERY_S:
            self.cleaned_at = time.monotonic()
            await clean(self.db)

    async def _report(self) -> None:
        if self.report is not None:
            await self.report()
