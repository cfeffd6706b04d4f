"""When a timer runs, against what the genuine listener was seen to do (recorded timer T1-T8).

Scenes are played all at once on a real Azurite (timer_stage); each test looks at one of them.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from azure.storage.blob.aio import ContainerClient, LinearRetry

from simulator.host.host_stop import HostStop
from simulator.host.schedule_status import NEVER, Occurrences, ScheduleStatus
from simulator.host.timer_listener import TimerTimes
from simulator.stack.azurite import Azurite
from simulator.stack.ports import NOBODYS
from tests.host.timer_stage import (
    Scene,
    Seen,
    Timer,
    hourly_at,
    is_on_time,
    is_soon,
    remember,
    scene,
    seconds_from_now,
    stored,
    ticks_of,
    until,
)

pytestmark = pytest.mark.timeout(150)  # the first test waits for all scenes, and perhaps for Azurite to be fetched


@scene
async def quick_runs(hosts: ContainerClient) -> tuple[Timer, str | None]:
    async with Timer(hosts, "quick", "*/2 * * * * *") as timer:
        await timer.has_run(4)
    return timer, await stored(timer)


def test_timer_when_runs_are_quick_fires_once_a_tick_and_not_at_the_start(seen: Seen) -> None:  # T1
    timer, _ = seen(quick_runs)
    ticks = ticks_of(timer.runs, every_s=2)
    assert ticks == list(range(ticks[0], ticks[0] + len(ticks)))
    assert ticks[0] * 2 > timer.started_at.timestamp()


def test_timer_when_due_more_than_once_a_minute_keeps_no_status(seen: Seen) -> None:  # T8
    timer, status = seen(quick_runs)
    assert status is None
    assert {run.fire.schedule_status for run in timer.runs} == {None}


@scene
async def one_long_run(hosts: ContainerClient) -> Timer:
    async def first_takes_five_seconds() -> None:
        await asyncio.sleep(5 if len(timer.runs) == 1 else 0)

    timer = Timer(hosts, "long", "*/2 * * * * *", first_takes_five_seconds)
    async with timer:
        await timer.has_run(4, within_s=20)
    return timer


def test_timer_when_a_run_outlasts_two_ticks_catches_up_once_and_returns_to_the_grid(
    seen: Seen,
) -> None:  # T2
    long, catch_up, *rest = seen(one_long_run).runs
    assert is_on_time(catch_up.started_at, long.finished_at)
    assert not catch_up.fire.past_due
    [first_tick] = ticks_of([long], every_s=2)
    assert ticks_of(rest, every_s=2)[:2] == [first_tick + 3, first_tick + 4]


@scene
async def every_run_too_long(hosts: ContainerClient) -> Timer:
    async with Timer(hosts, "busy", "* * * * * *", lambda: asyncio.sleep(1.3)) as timer:
        await timer.has_run(4)
    return timer


def test_timer_when_every_run_outlasts_its_tick_runs_back_to_back_and_never_twice_at_once(
    seen: Seen,
) -> None:  # T3
    runs = seen(every_run_too_long).runs
    for earlier, later in pairwise(runs):
        assert is_on_time(later.started_at, earlier.finished_at)
        assert later.started_at >= earlier.finished_at


@scene
async def every_run_fails(hosts: ContainerClient) -> Timer:
    async def fail() -> None:
        raise RuntimeError("no luck")

    async with Timer(hosts, "failing", "*/2 * * * * *", fail) as timer:
        await timer.has_run(3)
    return timer


def test_timer_when_a_run_fails_waits_for_the_next_tick(seen: Seen) -> None:  # T4
    ticks = ticks_of(seen(every_run_fails).runs, every_s=2)
    assert ticks == list(range(ticks[0], ticks[0] + len(ticks)))


@scene
async def missed_while_away(
    hosts: ContainerClient,
) -> tuple[Timer, Occurrences, Occurrences | None, datetime]:
    due = seconds_from_now(5)
    timer = Timer(hosts, "missed", hourly_at(due), options={"run_on_startup": True})
    left = await remember(timer, last=due - timedelta(hours=10), due=due - timedelta(hours=9))
    async with timer:
        await timer.has_run(1)
        first_ended_at = timer.runs[0].started_at
        await until(lambda: datetime.now(UTC) > first_ended_at + timedelta(seconds=1), 2, "a second more")
        status = await timer.status.read()
        await timer.has_run(2)
    return timer, left, status, due


def test_timer_when_nine_occurrences_were_missed_runs_once_at_the_start_past_due(seen: Seen) -> None:  # T5
    timer, left, status, due = seen(missed_while_away)
    first, second = timer.runs
    assert is_soon(first.started_at, timer.started_at)
    assert first.fire.past_due
    assert first.fire.schedule_status == left.as_worker_json()
    assert status is not None
    assert status.next == due
    assert is_on_time(status.last, first.started_at)
    assert status.last_updated == status.last
    assert is_on_time(second.started_at, due)
    assert not second.fire.past_due


@scene
async def never_seen_before(hosts: ContainerClient) -> tuple[Timer, str | None, str | None, datetime]:
    due = seconds_from_now(4)
    async with Timer(hosts, "new", hourly_at(due)) as timer:
        await until(lambda: datetime.now(UTC) > due - timedelta(seconds=1), 5, "shortly before it is due")
        early_runs, first_status = list(timer.runs), await stored(timer)
        assert not early_runs
        await timer.has_run(1)
    return timer, first_status, await stored(timer), due


def test_timer_when_no_status_is_stored_writes_one_and_does_not_run(seen: Seen) -> None:  # T6
    timer, status, _, due = seen(never_seen_before)
    occurrences = Occurrences.model_validate_json(status)
    assert (occurrences.last, occurrences.next) == (NEVER, due)
    assert is_soon(occurrences.last_updated, timer.started_at)
    assert '"Last":"0001-01-01T00:00:00+00:00"' in status
    assert f'"Next":"{due.isoformat()}"' in status


def test_timer_when_it_ran_stores_the_run_and_the_next_occurrence(seen: Seen) -> None:
    timer, _, status, due = seen(never_seen_before)
    occurrences = Occurrences.model_validate_json(status)
    assert occurrences.next == due + timedelta(hours=1)
    assert is_on_time(occurrences.last, due)
    assert [run.fire.past_due for run in timer.runs] == [False]


async def changed_schedule(hosts: ContainerClient, app: str, *, due_in: timedelta) -> tuple[Timer, Occurrences | None]:
    """A host that finds a status whose next occurrence is not one of its schedule."""
    due = seconds_from_now(4)
    timer = Timer(hosts, app, hourly_at(due))
    last = due - timedelta(hours=3, minutes=7)
    await remember(timer, last=last, due=datetime.now(UTC).replace(microsecond=0) + due_in)
    async with timer:
        await until(lambda: datetime.now(UTC) > due - timedelta(seconds=1), 5, "shortly before it is due")
        status = await timer.status.read()
        await timer.has_run(1)
    assert is_on_time(timer.runs[0].started_at, due)
    return timer, status


@scene
async def changed_from_past(hosts: ContainerClient) -> tuple[Timer, Occurrences | None]:
    return await changed_schedule(hosts, "changed-past", due_in=timedelta(minutes=-20))


@scene
async def changed_from_future(hosts: ContainerClient) -> tuple[Timer, Occurrences | None]:
    return await changed_schedule(hosts, "changed-future", due_in=timedelta(minutes=20))


@pytest.mark.parametrize("change", [changed_from_past, changed_from_future])
def test_timer_when_the_schedule_was_changed_counts_again_and_does_not_run(seen: Seen, change: Scene) -> None:  # T7
    timer, status = seen(change)
    assert status is not None
    assert status.last == NEVER
    assert is_on_time(timer.runs[0].started_at, status.next)
    assert [run.fire.past_due for run in timer.runs] == [False]


@scene
async def run_on_startup(hosts: ContainerClient) -> Timer:
    due = seconds_from_now(1800)
    async with Timer(hosts, "startup", hourly_at(due), options={"run_on_startup": True}) as timer:
        await timer.has_run(1)
        status = await timer.status.read()
    assert status is not None
    return timer


def test_timer_when_it_runs_on_startup_is_not_past_due(seen: Seen) -> None:
    timer = seen(run_on_startup)
    assert [run.fire.past_due for run in timer.runs] == [False]
    assert is_soon(timer.runs[0].started_at, timer.started_at)


@scene
async def unmonitored(hosts: ContainerClient) -> tuple[Timer, Occurrences, str | None]:
    due = seconds_from_now(4)
    timer = Timer(hosts, "unmonitored", hourly_at(due), options={"use_monitor": False})
    left = await remember(timer, last=due - timedelta(hours=10), due=due - timedelta(hours=9))
    async with timer:
        await timer.has_run(1)
    return timer, left, await stored(timer)


def test_timer_when_monitoring_is_off_neither_reads_nor_writes_the_status(seen: Seen) -> None:
    timer, left, status = seen(unmonitored)
    assert status == left.model_dump_json(by_alias=True)
    assert [(run.fire.past_due, run.fire.schedule_status) for run in timer.runs] == [(False, None)]


@scene
async def run_that_stops_the_host(hosts: ContainerClient) -> Timer:
    async def stop_host() -> None:
        raise HostStop("the function took too long")

    timer = Timer(hosts, "stopping", "* * * * * *", stop_host)
    await timer.__aenter__()
    await asyncio.wait({timer.listening}, timeout=5)
    return timer


def test_timer_when_a_run_raises_host_stop_passes_it_on(seen: Seen) -> None:
    end = seen(run_that_stops_the_host).listening.exception()
    assert isinstance(end, HostStop)
    assert str(end) == "the function took too long"


@scene
async def garbled_status(hosts: ContainerClient) -> tuple[Timer, bool]:
    due = seconds_from_now(1800)
    options, times = {"run_on_startup": True}, TimerTimes(first_retry_s=0.5)
    timer = Timer(hosts, "garbled", hourly_at(due), options=options, times=times)
    left = await remember(timer, last=due - timedelta(hours=1), due=due)
    await hosts.upload_blob(timer.status.path, "no status at all", overwrite=True)
    async with timer:
        await timer.holds_the_lease()
        await until(lambda: datetime.now(UTC) > timer.started_at + timedelta(seconds=1), 2, "a second")
        has_run_garbled = bool(timer.runs)
        await timer.status.write(left)
        await timer.has_run(1)
    return timer, has_run_garbled


def test_timer_when_the_status_is_garbled_does_not_start_until_it_is_mended(seen: Seen) -> None:
    timer, has_run_garbled = seen(garbled_status)
    assert not has_run_garbled
    assert len(timer.runs) == 1


async def test_status_write_when_storage_is_away_only_logs(caplog: pytest.LogCaptureFixture, azurite: Azurite) -> None:
    away = azurite.connection_string.replace(f":{azurite.ports.blob}/", f":{NOBODYS}/")
    retry = LinearRetry(retry_total=0)
    async with ContainerClient.from_connection_string(away, "azure-webjobs-hosts", retry_policy=retry) as hosts:
        await ScheduleStatus(hosts, "app", "tick").write(Occurrences(last=NEVER, next=NEVER))
    assert "Function 'tick' failed to update the timer trigger status" in caplog.text
