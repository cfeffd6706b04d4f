"""Which host's timer runs, against what the genuine listener was seen to do (recorded timer T9-T12).

Scenes are played all at once on a real Azurite (timer_stage); each test looks at one of them.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from azure.storage.blob.aio import BlobLeaseClient, ContainerClient, LinearRetry

from simulator.host.host_stop import HostStop
from simulator.host.hosts_container import open_hosts_container
from simulator.host.schedule_status import Occurrences
from simulator.host.singleton import Singleton
from simulator.host.timer_listener import TimerTimes
from simulator.stack.azurite import Azurite
from tests.host.timer_stage import (
    LATE_S,
    Seen,
    Timer,
    TroubledStorage,
    hourly_at,
    is_on_time,
    is_soon,
    remember,
    scene,
    seconds_from_now,
    until,
)

pytestmark = pytest.mark.timeout(150)  # the first test waits for all scenes, and perhaps for Azurite to be fetched

QUICK_LOOKS = TimerTimes(look_s=3)


@scene
async def stopped_mid_run(hosts: ContainerClient) -> tuple[Timer, bool, bool, Occurrences | None]:
    due = seconds_from_now(1800)
    timer = Timer(hosts, "stopped", hourly_at(due), lambda: asyncio.sleep(2), options={"run_on_startup": True})
    other = Singleton(hosts, "stopped", "tick")
    async with timer:
        await timer.has_run(1)
        timer.stop.set()
        was_free_during_run = await other.take(15)
    return timer, was_free_during_run, await other.take(15), await timer.status.read()


def test_timer_when_stopped_mid_run_ends_the_run_and_then_frees_the_lease(
    seen: Seen,
) -> None:  # T9, newer sources
    timer, was_free_during_run, was_free_afterwards, status = seen(stopped_mid_run)
    [run] = timer.runs
    assert (run.finished_at - run.started_at).total_seconds() >= 2 - 0.01
    assert not was_free_during_run
    assert was_free_afterwards
    assert status is not None
    assert is_on_time(status.last, run.started_at)


@scene
async def holder_killed(hosts: ContainerClient) -> tuple[Timer, Timer, datetime]:
    due = seconds_from_now(8)
    holder = Timer(hosts, "killed", hourly_at(due), times=QUICK_LOOKS)
    await remember(holder, last=due - timedelta(hours=1), due=due)
    async with holder:
        await holder.holds_the_lease()
        async with Timer(hosts, "killed", hourly_at(due), times=QUICK_LOOKS) as heir:
            await until(lambda: bool(heir.looks), 5, "the heir's first look")
            await holder.kill()
            await heir.has_run(1, within_s=25)
    return holder, heir, due


def test_timer_when_the_holder_is_killed_stays_silent_until_a_look_after_the_lease(
    seen: Seen,
) -> None:  # T10, T12
    holder, heir, _ = seen(holder_killed)
    lease_ends_at = holder.looks[0].at + timedelta(seconds=TimerTimes().development_lease_s)
    [won] = [look for look in heir.looks if look.has_won]
    assert timedelta(seconds=-0.1) < won.at - lease_ends_at < timedelta(seconds=QUICK_LOOKS.look_s + LATE_S)
    assert not holder.runs


def test_timer_when_it_inherits_the_lease_runs_what_was_missed_past_due(seen: Seen) -> None:
    _, heir, due = seen(holder_killed)
    [run] = heir.runs
    assert run.fire.past_due
    assert run.started_at > due
    assert is_soon(run.started_at, heir.looks[-1].at)


@scene
async def holder_stopped(hosts: ContainerClient) -> tuple[Timer, Timer, datetime]:
    async with Timer(hosts, "clean", "* * * * * *", times=QUICK_LOOKS) as holder:
        await holder.holds_the_lease()
        async with Timer(hosts, "clean", "* * * * * *", times=QUICK_LOOKS, outages={2}) as heir:
            held_longer_than_a_lease = holder.started_at + timedelta(seconds=17)
            await until(lambda: datetime.now(UTC) > held_longer_than_a_lease, 20, "a renewed lease")
            holder.stop.set()
            await holder.listening
            stopped_at = datetime.now(UTC)
            await heir.has_run(1, within_s=8)
    return holder, heir, stopped_at


def test_timer_when_the_holder_stops_is_taken_over_only_at_the_next_look(
    seen: Seen,
) -> None:  # T11 (one look fails)
    _, heir, stopped_at = seen(holder_stopped)
    assert [look.has_won for look in heir.looks] == [False] * (len(heir.looks) - 1) + [True]
    for number, look in enumerate(heir.looks[1:], 1):
        assert is_on_time(look.at, heir.looks[0].at + timedelta(seconds=number * QUICK_LOOKS.look_s))
    assert heir.looks[-2].at < stopped_at < heir.looks[-1].at


def test_timer_when_two_hosts_run_fires_each_tick_in_one_of_them(seen: Seen) -> None:
    holder, heir, stopped_at = seen(holder_stopped)
    assert len(holder.runs) >= 16  # the lease of 15 s was renewed
    assert all(run.started_at < stopped_at for run in holder.runs)
    assert all(run.started_at > stopped_at for run in heir.runs)


@scene
async def production_holder_killed(hosts: ContainerClient) -> bool:
    async with Timer(hosts, "production", "* * * * * *", options={"development": False}) as holder:
        await holder.holds_the_lease()
        await holder.kill()
    later = holder.started_at + timedelta(seconds=17)
    await until(lambda: datetime.now(UTC) > later, 20, "more than a development lease")
    return await Singleton(hosts, "production", "tick").take(15)


def test_timer_when_in_production_holds_its_lease_longer_than_in_development(seen: Seen) -> None:  # T10
    assert seen(production_holder_killed) is False
    assert TimerTimes() == TimerTimes(lease_s=60, development_lease_s=15, look_s=60)


@scene
async def lease_lost_mid_run(hosts: ContainerClient) -> tuple[Timer, BaseException | None, float]:
    timer = Timer(hosts, "robbed", "0 0 0 1 1 *", lambda: asyncio.sleep(60), options={"run_on_startup": True})
    await timer.__aenter__()
    await timer.has_run(1)
    await BlobLeaseClient(hosts.get_blob_client(timer.lease.path)).break_lease(lease_break_period=0)
    assert await Singleton(hosts, "robbed", "tick").take(15)
    await asyncio.wait({timer.listening}, timeout=15)
    return timer, timer.listening.exception(), (datetime.now(UTC) - timer.started_at).total_seconds()


def test_timer_when_the_lease_is_lost_mid_run_drops_the_run_and_stops_the_host(seen: Seen) -> None:
    timer, end, after_s = seen(lease_lost_mid_run)
    assert isinstance(end, HostStop)
    assert "Singleton lock renewal failed for blob 'locks/robbed/Host.Functions.tick.Listener'" in str(end)
    assert 7.4 < after_s < 10  # noticed at the renewal, half a lease after it was taken
    [run] = timer.runs
    assert run.ended_at is None


@scene
async def server_errors_on_renewal(hosts: ContainerClient) -> tuple[datetime, list[datetime], bool]:
    storage, retry = TroubledStorage(troubles=2), LinearRetry(retry_total=0)
    credential, name = hosts.credential, hosts.container_name
    account_url = hosts.url.removesuffix(f"/{name}")
    async with ContainerClient(
        account_url, name, credential=credential, transport=storage, retry_policy=retry
    ) as troubled:
        lease = Singleton(troubled, "troubled", "tick")
        assert await lease.take(15)
        taken_at, keeping = datetime.now(UTC), asyncio.create_task(lease.keep())
        await until(lambda: len(storage.renewed_at) == 3, 15, "three renewals")
        was_kept = not keeping.done()
        keeping.cancel()
    return taken_at, storage.renewed_at, was_kept


def test_singleton_when_the_server_fails_renews_sooner_instead_of_stopping_the_host(seen: Seen) -> None:
    taken_at, renewed_at, was_kept = seen(server_errors_on_renewal)
    for (before, after), pause_s in zip(pairwise([taken_at, *renewed_at]), (7.5, 3.75, 1.875), strict=True):
        assert is_on_time(after, before + timedelta(seconds=pause_s))
    assert was_kept


@scene
async def storage_away_at_start(hosts: ContainerClient) -> Timer:
    times = TimerTimes(first_retry_s=0.5)
    async with Timer(hosts, "away", "* * * * * *", times=times, outages={0, 1}) as timer:
        await timer.has_run(1)
    return timer


def test_timer_when_storage_is_away_at_the_start_tries_again_with_growing_pauses(seen: Seen) -> None:
    first, second, third = seen(storage_away_at_start).looks
    assert is_on_time(second.at, first.at + timedelta(seconds=0.5))
    assert is_on_time(third.at, second.at + timedelta(seconds=1))
    assert third.has_won


async def test_listen_when_stopped_before_it_has_the_lease_returns_without_a_run(azurite: Azurite) -> None:
    async with open_hosts_container(azurite.connection_string) as hosts:
        assert await Singleton(hosts, "waiting", "tick").take(15)
        async with Timer(hosts, "waiting", "* * * * * *") as timer:
            await until(lambda: bool(timer.looks), 5, "the first look")
    assert not timer.runs
