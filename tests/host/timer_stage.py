"""A timer listener on a real Azurite with a record of everything it does, and what a scene with it needs."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from azure.core.exceptions import ResourceNotFoundError, ServiceRequestError
from azure.core.pipeline.transport import AioHttpTransport
from azure.storage.blob.aio import ContainerClient

from simulator.host.hosts_container import open_hosts_container
from simulator.host.schedule_status import Occurrences, ScheduleStatus
from simulator.host.singleton import Singleton
from simulator.host.timer_listener import TimerFire, TimerListener, TimerTimes

EARLY_S = 0.01
LATE_S = 0.5  # 0.04 was recorded on a quiet machine

Job = Callable[[], Awaitable[None]]
Scene = Callable[[ContainerClient], Awaitable[Any]]
Seen = Callable[[Scene], Any]

SCENES: list[Scene] = []


def scene(play: Scene) -> Scene:
    """Have it played together with all the others; the fixture `seen` tells what came of it."""
    SCENES.append(play)
    return play


async def play_all(connection_string: str) -> Seen:
    """Play every scene, all at once since they are mostly waiting; one that failed raises for its own tests alone."""
    async with open_hosts_container(connection_string) as hosts:
        results = await asyncio.gather(*(play(hosts) for play in SCENES), return_exceptions=True)
    outcomes = dict(zip(SCENES, results, strict=True))

    def seen(play: Scene) -> Any:
        if isinstance(outcomes[play], BaseException):
            raise outcomes[play]
        return outcomes[play]

    return seen


@dataclass
class Run:
    """One call of the function; `ended_at` is None when it was dropped."""

    fire: TimerFire
    started_at: datetime
    ended_at: datetime | None = None

    @property
    def finished_at(self) -> datetime:
        assert self.ended_at is not None, "the run was dropped"
        return self.ended_at


@dataclass
class Look:
    """One try to take the lease."""

    at: datetime
    has_won: bool = False


class WatchedSingleton(Singleton):
    """A lease with a record of the looks at it; those whose numbers are in `outages` get no answer."""

    looks: list[Look]
    outages: Collection[int]

    async def take(self, lease_s: int) -> bool:
        look = Look(datetime.now(UTC))
        self.looks.append(look)
        if len(self.looks) - 1 in self.outages:
            raise ServiceRequestError("connection refused")
        look.has_won = await super().take(lease_s)
        return look.has_won


class TroubledStorage(AioHttpTransport):  # type: ignore[misc]  # azure-core exports it untyped
    """Spoils the answers to the first `troubles` renewals with a server's error, and notes when each was asked for."""

    def __init__(self, troubles: int) -> None:
        super().__init__()
        self.renewed_at: list[datetime] = []
        self._troubles = troubles

    async def send(self, request: Any, **options: Any) -> Any:
        response = await super().send(request, **options)
        if request.headers.get("x-ms-lease-action") == "renew":
            self.renewed_at.append(datetime.now(UTC))
            if len(self.renewed_at) <= self._troubles:
                response.status_code = 503
        return response


async def nothing() -> None:
    """The quickest job."""


@dataclass
class Timer:
    """One host's listener; `app` is the host id, so timers of one app compete for the lease."""

    hosts: ContainerClient
    app: str
    schedule: str
    job: Job = nothing
    times: TimerTimes = field(default_factory=TimerTimes)
    options: dict[str, Any] = field(default_factory=dict)
    outages: Collection[int] = ()
    runs: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.status = ScheduleStatus(self.hosts, self.app, "tick")
        self.lease = WatchedSingleton(self.hosts, self.app, "tick")
        self.lease.looks = []
        self.lease.outages = self.outages
        self.stop = asyncio.Event()

    @property
    def looks(self) -> list[Look]:
        return self.lease.looks

    async def __aenter__(self) -> Self:
        options = {"development": True, **self.options}
        listener = TimerListener("tick", self.schedule, self._run, self.lease, self.status, times=self.times, **options)
        self.started_at = datetime.now(UTC)
        self.listening = asyncio.create_task(listener.listen(self.stop))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop.set()
        if kind:
            await self.kill()
        elif not self.listening.cancelled():
            await self.listening

    async def kill(self) -> None:
        """End it without a word to anybody, the lease left as it is."""
        self.listening.cancel()
        await asyncio.wait({self.listening})

    async def has_run(self, times: int, *, within_s: float = 12) -> None:
        await until(lambda: len(self.runs) >= times, within_s, f"{times} runs of {self.app}, not {self.runs}")

    async def holds_the_lease(self) -> None:
        await until(lambda: any(look.has_won for look in self.looks), 5, f"{self.app} holds its lease")

    async def _run(self, fire: TimerFire) -> None:
        run = Run(fire, datetime.now(UTC))
        self.runs.append(run)
        try:
            await self.job()
        except Exception:
            run.ended_at = datetime.now(UTC)
            raise
        run.ended_at = datetime.now(UTC)


async def until(condition: Callable[[], bool], within_s: float, what: str) -> None:
    deadline = asyncio.get_running_loop().time() + within_s
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"not within {within_s} s: {what}"
        await asyncio.sleep(0.02)


async def stored(timer: Timer) -> str | None:
    """The status blob, word for word."""
    try:
        blob = await timer.hosts.download_blob(timer.status.path)
        return (await blob.readall()).decode()
    except ResourceNotFoundError:
        return None


async def remember(timer: Timer, *, last: datetime, due: datetime) -> Occurrences:
    """Store a status as an earlier life of the host left it."""
    occurrences = Occurrences(last=last, next=due, last_updated=last)
    await timer.status.write(occurrences)
    return occurrences


def hourly_at(due: datetime) -> str:
    """A schedule that is due then, and rare enough for the host to keep a status."""
    return f"{due.second} {due.minute} * * * *"


def seconds_from_now(seconds: int) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)


def is_on_time(at: datetime, due: datetime) -> bool:
    return -EARLY_S <= (at - due).total_seconds() <= LATE_S


def is_soon(at: datetime, since: datetime) -> bool:
    """Right after, when storage has to be asked on the way."""
    return timedelta() <= at - since <= timedelta(seconds=3)


def ticks_of(runs: list[Run], every_s: int) -> list[int]:
    """The number of the tick to which each run belongs; a run off the grid fails."""
    ticks = []
    for run in runs:
        tick = round((run.started_at.timestamp() - (LATE_S - EARLY_S) / 2) / every_s)
        assert is_on_time(run.started_at, datetime.fromtimestamp(tick * every_s, UTC)), run
        ticks.append(tick)
    return ticks
