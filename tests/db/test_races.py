"""Arrows that meet: one wins, the others change nothing, and the rows agree with what was answered."""

from __future__ import annotations

import asyncio
from collections import Counter
from uuid import uuid4

from shared.db import Database, Row
from shared.jobs import claim as claims
from shared.jobs import people
from tests.db.arrows import reach, send
from tests.stage import job_row, runs_of

TIMES = 100
AT_ONCE = 4  # jobs, so that the pool is never the bottleneck


async def test_claim_when_sixteen_workers_want_it_then_one_has_it(db: Database) -> None:
    row = await reach(db, "queued")

    claimed = await asyncio.gather(
        *(claims.claim(db, row["job_id"], row["delivery"], uuid4(), lease_s=30) for _ in range(16))
    )

    assert Counter(claim is not None for claim in claimed) == {True: 1, False: 15}
    running = await job_row(db, row["job_id"])
    assert (running["attempts"], running["run"]) == (1, 1)
    assert await runs_of(db, row["job_id"]) == [(1, 1, None)]


async def test_cancel_when_it_meets_the_way_to_success_a_hundred_times_then_one_end_each(db: Database) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def complete(row: Row) -> bool:
        return await send(db, "claim", row) and await send(db, "succeed", await job_row(db, row["job_id"]))

    async def meet(number: int) -> tuple[Row, bool, bool]:
        async with gate:
            row = await reach(db, "queued")
            racers = [send(db, "cancel", row), complete(row)]
            first, second = await asyncio.gather(*(racers if number % 2 else reversed(racers)))
            cancelled, completed = (first, second) if number % 2 else (second, first)
            return await job_row(db, row["job_id"]), cancelled, completed

    for row, cancelled, completed in await asyncio.gather(*(meet(number) for number in range(TIMES))):
        assert cancelled != completed
        assert row["state"] == ("cancelled" if cancelled else "succeeded")
        assert (row["result"] is None) == cancelled
        assert row["run"] == (0 if cancelled else 1)


async def test_cancel_when_it_meets_a_retry_wait_then_no_outcome_is_lost(db: Database) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def meet() -> None:
        async with gate:
            row = await reach(db, "running")
            went_back, cancelled = await asyncio.gather(send(db, "retry_later", row), send(db, "cancel", row))
            after = await job_row(db, row["job_id"])
            assert went_back, "a cancel that is refused while the job runs may not keep it from going back"
            assert after["state"] == ("cancelled" if cancelled else "queued")

    await asyncio.gather(*(meet() for _ in range(TIMES)))


async def test_cancel_when_the_kind_allows_it_and_the_job_goes_back_at_that_moment_then_it_ends(db: Database) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def meet() -> None:
        async with gate:
            row = await reach(db, "running")
            asked = people.cancel(db, row["job_id"], stoppable=["ticket"])
            went_back, moved = await asyncio.gather(send(db, "retry_later", row), asked)
            assert went_back
            assert moved is not None, "one of queued and running it was all the time"
            assert (await job_row(db, row["job_id"]))["state"] == "cancelled"

    await asyncio.gather(*(meet() for _ in range(TIMES)))


async def test_two_people_retry_when_at_once_then_one_new_message(db: Database) -> None:
    row = await reach(db, "dead_letter")
    await db.execute("DELETE FROM outbox")

    moved = await asyncio.gather(
        *(send(db, "retry", row) for _ in range(4)), *(send(db, "retry_by_message", row) for _ in range(4))
    )

    assert Counter(moved) == {True: 1, False: 7}
    assert (await job_row(db, row["job_id"]))["delivery"] == row["delivery"] + 1
    assert len(await db.fetch_dicts("SELECT 1 AS one FROM outbox")) == 1


async def test_run_when_two_workers_hold_it_and_both_end_it_then_the_first_end_stands(db: Database) -> None:
    row = await reach(db, "running")

    moved = await asyncio.gather(*(send(db, arrow, row) for arrow in ("succeed", "fail", "dead_letter", "retry_later")))

    assert Counter(moved) == {True: 1, False: 3}
    after = await job_row(db, row["job_id"])
    winner = ("succeeded", "failed", "dead_letter", "queued")[moved.index(True)]
    assert after["state"] == winner
    [(_, _, outcome)] = await runs_of(db, row["job_id"])
    assert outcome == {"queued": "retry"}.get(winner, winner)
