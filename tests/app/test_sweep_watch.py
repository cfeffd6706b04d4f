"""What the sweep may conclude and when; and that nothing it meets keeps it from the rest."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pytest

from shared.db import Connection, Database
from shared.errors import DatabaseUnavailable
from shared.jobs import claim as claims
from shared.queues.poison import Poison
from shared.settings import Settings
from shared.sweep import Sweep, Watch
from shared.wiring import App, build
from tests.db.arrows import reach, send
from tests.stage import Mailroom, accept, job_row, seed, until

T = TypeVar("T")

LEASE_S = 1.0
LEASE = pytest.mark.settings(JOB_LEASE_SECONDS=str(LEASE_S))
LOST = "UPDATE jobs SET announced_at = now() - interval '31 seconds' WHERE state = 'queued'"
OVER = "UPDATE jobs SET locked_until = now() - interval '1 second' WHERE state = 'running'"
WORST = 2**31 - 1  # a number that cannot be raised: no arrow gets through for such a row


class Always(Watch):
    """Has watched for ever."""

    def looked(self) -> float:
        return float("inf")


class Away(Database):
    """A database that says at once that it cannot be reached."""

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, in_transaction: bool = False) -> T:
        raise DatabaseUnavailable


@dataclass(frozen=True)
class Broken(Poison):
    """A part that meets what nobody expected."""

    async def run_pass(self, queue: str) -> None:
        raise ValueError("broken")


async def states(db: Database) -> dict[str, int]:
    rows = await db.fetch_dicts("SELECT state, count(*) AS n FROM jobs GROUP BY state")
    return {row["state"]: row["n"] for row in rows}


async def watch_for(sweep: Sweep, seconds: float) -> None:
    """Passes without a gap, for so long."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        await sweep.run_pass()
        await asyncio.sleep(0.05)


async def running(app: App, how_many: int) -> list[int]:
    """Jobs whose leases are over."""
    jobs = [(await reach(app.db, "running"))["job_id"] for _ in range(how_many)]
    await app.db.execute(OVER)
    await app.db.execute("DELETE FROM outbox")
    return jobs


@LEASE
async def test_lease_when_over_in_a_fresh_process_then_one_pass_stays_half_a_lease_and_judges(app: App) -> None:
    [job_id] = await running(app, 1)
    began = time.monotonic()
    await app.sweep.run_pass()
    assert 0.5 * LEASE_S <= time.monotonic() - began < 3
    assert (await job_row(app.db, job_id))["state"] == "queued"


@LEASE
async def test_lease_when_the_process_has_looked_on_then_judged_at_once(app: App) -> None:
    await watch_for(app.sweep, 0.6 * LEASE_S)
    [job_id] = await running(app, 1)
    await app.sweep.run_pass()
    assert (await job_row(app.db, job_id))["state"] == "queued"


@LEASE
async def test_lease_when_postgres_was_away_while_the_passes_went_on_then_live_heartbeats_come_first(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    row = await reach(app.db, "running")
    await watch_for(app.sweep, 0.6 * LEASE_S)
    app.sweep.db = Away("", pool_size=1)
    await watch_for(app.sweep, 0.7 * LEASE_S)
    assert "the database is away" in caplog.text
    app.sweep.db = app.db
    await app.db.execute(OVER)

    passing = asyncio.create_task(app.sweep.run_pass())
    await asyncio.wait({passing}, timeout=0.1)
    assert not passing.done(), "it has to watch anew"
    assert await claims.extend(app.db, [(row["job_id"], row["run"])], lease_s=30)
    await passing
    assert (await job_row(app.db, row["job_id"]))["state"] == "running"


@pytest.mark.settings(JOB_LEASE_SECONDS="80000")
async def test_lease_when_postgres_has_just_been_started_then_not_judged_however_long_the_process_watched(
    app: App,
) -> None:
    await running(app, 1)
    app.sweep.watch = Always(0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await app.sweep.run_pass()
    assert await states(app.db) == {"running": 1}


@LEASE
async def test_message_when_lost_in_a_fresh_process_then_one_pass_stays_and_announces_again(
    app: App, mailroom: Mailroom
) -> None:
    await accept(app)
    await app.relay.run_pass(stay_s=0)
    await mailroom.take(mailroom.tickets)
    await app.db.execute(LOST)
    began = time.monotonic()
    await app.sweep.run_pass()
    assert time.monotonic() - began >= LEASE_S / 3
    assert await app.db.fetch_dicts("SELECT delivery, unclaimed FROM jobs") == [{"delivery": 2, "unclaimed": 1}]


@LEASE
async def test_messages_when_the_queue_was_cleared_then_all_are_announced_again(app: App, mailroom: Mailroom) -> None:
    await seed(app.settings.database_url, 40)
    await app.relay.run_pass(stay_s=0)
    assert len(await mailroom.take(mailroom.tickets)) == 40
    await app.db.execute(LOST)
    await app.sweep.run_pass()
    await app.relay.run_pass(stay_s=0)
    assert len(await mailroom.take(mailroom.tickets)) == 40
    assert await app.db.fetch_dicts("SELECT DISTINCT delivery FROM jobs") == [{"delivery": 2}]


@LEASE
async def test_row_when_it_cannot_be_moved_then_the_others_of_its_batch_are(
    app: App, mailroom: Mailroom, caplog: pytest.LogCaptureFixture
) -> None:
    app.sweep.watch = Always(0)
    bad, *good = await running(app, 4)
    lost = [(await reach(app.db, "queued"))["job_id"] for _ in range(4)]
    await app.db.execute("DELETE FROM outbox")
    await app.db.execute(LOST)
    for job_id in (bad, lost[1]):
        await app.db.execute(
            "UPDATE jobs SET delivery = %(worst)s WHERE job_id = %(job_id)s", {"worst": WORST, "job_id": job_id}
        )

    await app.sweep.run_pass()

    assert await states(app.db) == {"running": 1, "queued": 7}
    moved = await app.db.fetch_dicts("SELECT job_id FROM outbox ORDER BY job_id")
    assert [row["job_id"] for row in moved] == [*good, lost[0], *lost[2:]]
    assert f"job {bad} cannot be moved" in caplog.text
    assert f"job {lost[1]} cannot be moved" in caplog.text


@LEASE
async def test_part_when_it_fails_then_the_others_do_their_work(
    app: App, mailroom: Mailroom, caplog: pytest.LogCaptureFixture
) -> None:
    await app.db.execute("INSERT INTO idempotency_keys VALUES ('r', 'a', 'k', '', '{}', now() - interval '1 second')")
    sweep = replace(app.sweep, poison=Broken(app.db, app.queues, {}))
    await sweep.run_pass()
    assert "_poison failed" in caplog.text
    assert await app.db.fetch_dicts("SELECT key FROM idempotency_keys") == []


@LEASE
async def test_passes_when_four_come_at_once_on_two_processes_then_each_row_is_moved_once(
    app: App, settings: Settings, mailroom: Mailroom
) -> None:
    jobs = await running(app, 60)
    silent = await seed(app.settings.database_url, 60)
    await app.db.execute("DELETE FROM outbox")
    await app.db.execute(LOST)
    other = await build(settings)
    for home in (app, other):
        home.sweep.watch = Always(0)

    await asyncio.gather(*(home.sweep.run_pass() for home in (app, other, app, other)))
    await other.close()

    rows = await app.db.fetch_dicts("SELECT job_id, count(*) AS n FROM outbox GROUP BY job_id")
    assert {row["job_id"]: row["n"] for row in rows} == dict.fromkeys([*jobs, *silent], 1)
    assert Counter(row["delivery"] for row in await app.db.fetch_dicts("SELECT delivery FROM jobs")) == {2: 120}


@LEASE
async def test_job_when_its_last_worker_went_away_then_a_readable_dead_letter(app: App, mailroom: Mailroom) -> None:
    await running(app, 1)
    await app.db.execute("UPDATE jobs SET attempts = max_attempts")
    await app.sweep.run_pass()
    await app.relay.run_pass(stay_s=0)
    [letter] = await mailroom.peek(f"{mailroom.tickets}-poison")
    assert (letter["error"]["code"], letter["attempts"], letter["job_id"]) == ("worker_lost", 5, 1)


@LEASE
async def test_job_when_lost_again_and_again_then_it_comes_back_later_and_later(app: App) -> None:
    app.sweep.watch = Always(0)
    waits: list[list[float]] = [[], [], []]
    for _ in range(8):
        row = await reach(app.db, "queued")
        for wait in waits:
            assert await send(app.db, "claim", await job_row(app.db, row["job_id"]))
            await app.db.execute(OVER)
            await app.sweep.run_pass()
            back = await app.db.fetch_dict(
                "SELECT extract(epoch FROM run_after - clock_timestamp())::float8 AS s FROM jobs ORDER BY job_id DESC"
            )
            assert back is not None
            wait.append(back["s"])
    assert [max(wait) <= limit for wait, limit in zip(waits, (0, 4, 8), strict=True)] == [True] * 3
    assert max(waits[1]) > 1
    assert max(waits[2]) > 2


async def test_pass_when_there_is_nothing_to_do_then_postgres_writes_nothing(app: App, mailroom: Mailroom) -> None:
    for state in ("queued", "running", "succeeded", "failed"):
        await reach(app.db, state)
    await app.sweep.run_pass()

    async def next_transaction() -> Any:
        row = await app.db.fetch_dict("SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id")
        return row and row["id"]

    async def a_pass_writes_nothing() -> bool:
        before = await next_transaction()
        await app.sweep.run_pass()
        return bool(await next_transaction() == before)

    # Postgres itself writes now and then; a pass that does, does so every time.
    await until(a_pass_writes_nothing, "a pass writes nothing")


async def test_cleaning_when_there_is_old_and_new_then_only_the_old_goes(app: App, mailroom: Mailroom) -> None:
    ended, open_, recent = [(await reach(app.db, state))["job_id"] for state in ("succeeded", "running", "succeeded")]
    await app.db.execute("UPDATE job_runs SET started_at = now() - interval '91 days' WHERE job_id <> 3")
    await app.db.execute(
        "INSERT INTO idempotency_keys SELECT 'r', 'a', 'k' || n, '', '{}', now() + (n - 1200) * interval '1 hour'"
        " FROM generate_series(1, 1202) AS n"
    )
    await app.sweep.run_pass()
    assert {row["job_id"] for row in await app.db.fetch_dicts("SELECT job_id FROM job_runs")} == {open_, recent}
    assert (await job_row(app.db, ended))["state"] == "succeeded"
    keys = await app.db.fetch_dicts("SELECT key FROM idempotency_keys ORDER BY key")
    assert [row["key"] for row in keys] == ["k1201", "k1202"]
