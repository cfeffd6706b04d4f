"""The timer trigger's listener: one run at a time, on schedule, in one host alone (functions-host B2-B5)."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from azure.core.exceptions import AzureError

from simulator.host.host_stop import HostStop
from simulator.host.ncrontab import Schedule
from simulator.host.pause import stopped_within
from simulator.host.schedule_status import Occurrences, ScheduleStatus, after_run, resume
from simulator.host.singleton import Singleton

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class TimerFire:
    """What a run is told; `schedule_status` is None where the host keeps none."""

    past_due: bool
    schedule_status: dict[str, str] | None
    adjusts_for_dst: bool = True

    def to_json(self) -> str:
        """The text a worker makes a TimerRequest of."""
        return json.dumps(
            {
                "Schedule": {"AdjustForDST": self.adjusts_for_dst},
                "ScheduleStatus": self.schedule_status,
                "IsPastDue": self.past_due,
            }
        )


@dataclass(frozen=True)
class TimerTimes:
    """The genuine host's times."""

    lease_s: int = 60
    development_lease_s: int = 15
    look_s: float = 60.0  # between two looks of a host that does not hold the lease
    first_retry_s: float = 2.0  # when storage cannot be reached at the start; doubles up to the longest
    longest_retry_s: float = 120.0


class TimerListener:
    """Fires `run` on schedule while it holds the lease.

    `run` may raise: the failure is logged and the next occurrence is awaited. Only HostStop goes through.
    A schedule that cannot be read raises ScheduleError here, which is when the host indexes its functions.
    """

    def __init__(
        self,
        name: str,
        schedule_text: str,
        run: Callable[[TimerFire], Awaitable[None]],
        lease: Singleton,
        status: ScheduleStatus,
        *,
        use_monitor: bool = True,
        run_on_startup: bool = False,
        development: bool,
        times: TimerTimes = TimerTimes(),
    ) -> None:
        self._name = name
        self._schedule = Schedule.parse(schedule_text)
        self._run = run
        self._lease = lease
        self._lease_s = times.development_lease_s if development else times.lease_s
        self._status = status
        self._keeps_status = use_monitor and not self._schedule.is_subminute
        self._run_on_startup = run_on_startup
        self._times = times

    async def listen(self, stop: asyncio.Event) -> None:
        """Return after `stop`, once the running call has ended and the lease is free.

        Raises HostStop when the lease is lost; the running call is dropped. Cancelled, it drops the call too,
        and leaves the lease to run out as a killed host does.
        """
        if not await self._take_lease(stop):
            return
        keeping = asyncio.create_task(self._lease.keep())
        firing = asyncio.create_task(self._fire_until(stop))
        try:
            await asyncio.wait({keeping, firing}, return_when=asyncio.FIRST_COMPLETED)
            await (firing if firing.done() else keeping)
        finally:
            keeping.cancel()
            firing.cancel()
            await asyncio.gather(keeping, firing, return_exceptions=True)
        await self._lease.free()

    async def _take_lease(self, stop: asyncio.Event) -> bool:
        is_taken = await self._start(lambda: self._lease.take(self._lease_s), stop)
        if is_taken is None:
            return False
        return is_taken or await self._lease.look_again(self._lease_s, self._times.look_s, stop)

    async def _start(self, step: Callable[[], Awaitable[T]], stop: asyncio.Event) -> T | None:
        """Try a step of starting up again and again; None when stopped first."""
        pause_s = self._times.first_retry_s
        while True:
            try:
                return await step()
            except (AzureError, ValueError) as error:
                log.error("The listener for function '%s' was unable to start: %s", self._name, error)
            if await stopped_within(stop, pause_s):
                return None
            pause_s = min(2 * pause_s, self._times.longest_retry_s)

    async def _fire_until(self, stop: asyncio.Event) -> None:
        opening = await self._start(self._open, stop)
        if opening is None or stop.is_set():
            return
        occurrences, past_due = opening
        if past_due or self._run_on_startup:
            occurrences = await self._fire(occurrences, past_due=past_due, is_planned=False)
        while not await stopped_within(stop, (occurrences.next - datetime.now(UTC)).total_seconds()):
            occurrences = await self._fire(occurrences)

    async def _open(self) -> tuple[Occurrences, bool]:
        """Where to go on from, and whether an occurrence was missed while no host was listening."""
        stored = await self._status.read() if self._keeps_status else None
        now = datetime.now(UTC)
        occurrences = resume(stored, self._schedule, now)
        if self._keeps_status and occurrences != stored:
            await self._status.write(occurrences)
        return occurrences, now > occurrences.next

    async def _fire(self, occurrences: Occurrences, *, past_due: bool = False, is_planned: bool = True) -> Occurrences:
        started_at = datetime.now(UTC)
        status = occurrences.as_worker_json() if self._keeps_status else None
        try:
            await self._run(TimerFire(past_due, status, self._schedule.adjusts_for_dst))
        except HostStop:
            raise
        except Exception:
            log.exception("Function '%s' failed.", self._name)
        occurrences = after_run(occurrences, self._schedule, started_at, is_planned=is_planned)
        if self._keeps_status:
            await self._status.write(occurrences)
        return occurrences
