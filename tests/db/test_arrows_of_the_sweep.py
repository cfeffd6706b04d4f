"""What the sweep's arrows write: leases that ran out, messages that were lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import LiteralString

import pytest

from shared.db import Database, Row
from shared.jobs import rescue
from tests.db.arrows import reach, send
from tests.stage import job_row, runs_of, transaction

LEASE_S = 30.0
SHORTLY = timedelta(seconds=1)


async def lose(db: Database, *, limit: int = 10) -> list[int]:
    """One look for leases that ran out; the ids of the jobs that lost theirs."""
    lost = await rescue.lose(db, lease_s=LEASE_S, base_s=2, cap_s=60, limit=limit)
    return sorted(job.job_id for job in lost)


async def abandoned(db: Database, *, lived_s: float = 40) -> Row:
    """A running job whose worker made its last sign of life `lived_s` seconds after its start, and went away."""
    row = await reach(db, "running")
    await db.execute("DELETE FROM outbox")
    await db.execute(
        "UPDATE jobs SET run_started_at = now() - interval '100 seconds',"
        " locked_until = now() - interval '100 seconds' + %(until_s)s * interval '1 second'"
        " WHERE job_id = %(job_id)s",
        {"until_s": lived_s + LEASE_S, "job_id": row["job_id"]},
    )
    return row


async def announced(db: Database, ago_s: float, *, unclaimed: int = 0) -> int:
    """A queued job whose message was put so many seconds ago."""
    row = await reach(db, "queued")
    await db.execute(
        "UPDATE jobs SET announced_at = now() - %(ago_s)s * interval '1 second', unclaimed = %(unclaimed)s"
        " WHERE job_id = %(job_id)s",
        {"ago_s": ago_s, "unclaimed": unclaimed, "job_id": row["job_id"]},
    )
    await db.execute("DELETE FROM outbox")
    job_id: int = row["job_id"]
    return job_id


async def announce_again(db: Database, *, queue_is_empty: bool) -> list[int]:
    again = await rescue.announce_again(db, "tickets", queue_is_empty=queue_is_empty, patience_s=30, limit=10)
    return sorted(job.job_id for job in again)


async def test_losing_then_queued_at_once_with_the_attempt_counted_and_its_time_up_to_the_last_sign_of_life(
    db: Database,
) -> None:
    row = await abandoned(db)

    assert await lose(db) == [row["job_id"]]

    back = await job_row(db, row["job_id"])
    assert (back["state"], back["attempts"], back["losses"], back["delivery"]) == ("queued", 1, 1, 2)
    assert (back["claim_id"], back["locked_until"], back["finished_at"]) == (None, None, None)
    assert back["last_error"]["code"] == "worker_lost"
    assert 39.9 < back["ran_s"] < 40.1
    assert await runs_of(db, row["job_id"]) == [(1, 1, "lost")]
    [announcement] = await db.fetch_dicts("SELECT purpose, delivery, due_at FROM outbox")
    assert announcement == {"purpose": "work", "delivery": 2, "due_at": back["run_after"]}
    [now] = await db.fetch_dicts("SELECT now() AS now")
    assert abs(back["run_after"] - now["now"]) < SHORTLY


async def test_losing_when_it_was_lost_before_then_it_waits_with_full_jitter(db: Database) -> None:
    waits = []
    for _ in range(12):
        row = await abandoned(db)
        await db.execute("UPDATE jobs SET losses = 2 WHERE job_id = %(job_id)s", {"job_id": row["job_id"]})
        await lose(db)
        back = await job_row(db, row["job_id"])
        [past] = await db.fetch_dicts("SELECT ended_at FROM job_runs ORDER BY job_id DESC LIMIT 1")
        waits.append((back["run_after"] - past["ended_at"]).total_seconds())
    assert max(waits) <= 8.5
    assert max(waits) - min(waits) > 0.5


@pytest.mark.parametrize(
    ("change", "state", "code", "purposes"),
    [
        ("attempts = max_attempts", "dead_letter", "worker_lost", ["poison"]),
        ("ran_s = deadline_s - 1", "failed", "job_timeout", []),
        ("ran_s = deadline_s - 1, attempts = max_attempts", "failed", "job_timeout", []),
        ("cancel_requested = true, attempts = max_attempts", "cancelled", None, []),
        ("cancel_requested = true, ran_s = deadline_s", "cancelled", None, []),
    ],
)
async def test_losing_when_there_is_no_way_back_then_it_ends(
    db: Database, change: LiteralString, state: str, code: str | None, purposes: list[str]
) -> None:
    row = await abandoned(db)
    await db.execute("UPDATE jobs SET " + change)

    assert await lose(db) == [row["job_id"]]

    ended = await job_row(db, row["job_id"])
    assert (ended["state"], ended["delivery"]) == (state, row["delivery"] + 1)
    assert ended["finished_at"] is not None
    assert code is None or ended["last_error"]["code"] == code
    assert await runs_of(db, row["job_id"]) == [(1, 1, state)]
    assert [found["purpose"] for found in await db.fetch_dicts("SELECT purpose FROM outbox")] == purposes


async def test_losing_then_leases_that_hold_stay_and_each_job_is_lost_once_whoever_looks(db: Database) -> None:
    holds = await reach(db, "running")
    gone = [(await abandoned(db))["job_id"] for _ in range(12)]

    looks = await asyncio.gather(*(lose(db, limit=5) for _ in range(4)))

    assert sorted(job_id for look in looks for job_id in look) == gone
    assert await job_row(db, holds["job_id"]) == holds


async def test_losing_when_somebody_else_has_the_row_in_hand_then_left_to_them(db: Database, database_url: str) -> None:
    row = await abandoned(db)
    async with transaction(database_url) as other:
        await other.execute("SELECT 1 FROM jobs FOR UPDATE")
        async with asyncio.timeout(5):
            assert await lose(db) == []
    assert await lose(db) == [row["job_id"]]


async def test_losing_when_the_worker_comes_back_then_it_may_write_nothing(db: Database) -> None:
    row = await abandoned(db)
    await lose(db)
    for arrow in ("succeed", "fail", "retry_later", "give_back", "dead_letter", "save_step", "extend"):
        assert not await send(db, arrow, row), arrow


@pytest.mark.parametrize(
    ("unclaimed", "patience_s"), [(0, 30), (1, 60), (2, 120), (6, 1920), (7, 3600), (12, 3600), (40, 3600)]
)
async def test_message_when_nobody_came_then_announced_again_after_a_time_that_doubles_up_to_an_hour(
    db: Database, unclaimed: int, patience_s: int
) -> None:
    await announced(db, patience_s - 2, unclaimed=unclaimed)
    lost = await announced(db, patience_s + 2, unclaimed=unclaimed)

    assert await announce_again(db, queue_is_empty=True) == [lost]

    row = await job_row(db, lost)
    assert (row["state"], row["attempts"], row["delivery"], row["unclaimed"]) == ("queued", 0, 2, unclaimed + 1)
    assert row["announced_at"] is None
    assert await db.fetch_dicts("SELECT job_id, purpose, delivery FROM outbox") == [
        {"job_id": lost, "purpose": "work", "delivery": 2}
    ]
    assert await announce_again(db, queue_is_empty=True) == []


@pytest.mark.parametrize(("later_s", "is_lost"), [(31, True), (29, False), (-5, False)])
async def test_message_when_the_queue_is_not_empty_then_lost_only_if_one_put_30_s_later_was_claimed(
    db: Database, later_s: int, is_lost: bool
) -> None:
    waiting = await announced(db, 100)
    other = await announced(db, 100 - later_s)
    assert await announce_again(db, queue_is_empty=False) == []

    assert await send(db, "claim", await job_row(db, other))

    assert await announce_again(db, queue_is_empty=False) == ([waiting] if is_lost else [])


async def test_message_when_its_job_is_claimed_then_it_is_not_lost(db: Database) -> None:
    job_id = await announced(db, 100)
    await send(db, "claim", await job_row(db, job_id))
    assert await announce_again(db, queue_is_empty=True) == []
