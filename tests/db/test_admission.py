"""Which announcements the lane and the breakers let a pass take, in which order, and never for the same room twice."""

from __future__ import annotations

import asyncio

import pytest

from shared.db import Database
from shared.jobs import people
from shared.provider.lane import Lane, Limits
from shared.queues import outbox
from shared.queues.outbox import Letter
from tests.db.arrows import reach, send
from tests.stage import job_row, seed

NO_LIMIT = Limits.per_minute(calls=0, burst=None, tokens=0)


def one_a_minute(*, burst: int) -> Limits:
    """A quota of just `burst` calls, for as long as a test runs."""
    return Limits.per_minute(calls=1, burst=burst, tokens=0)


async def take(db: Database, limits: Limits) -> list[Letter]:
    return await outbox.take_work(db, "tickets", Lane(db, limits, 3600), share_limit=outbox.NO_LIMIT, limit=16)


async def taken(db: Database, limits: Limits = NO_LIMIT) -> list[int]:
    """What one pass takes, in its order."""
    return [letter.job_id for letter in await take(db, limits)]


async def announce(db: Database, limits: Limits = NO_LIMIT) -> list[int]:
    """The same, put on the queue and noted."""
    letters = await take(db, limits)
    await outbox.sent(db, letters)
    return [letter.job_id for letter in letters]


async def open_breaker(db: Database, endpoint: str, *, retry_in_s: float) -> None:
    await db.execute(
        "UPDATE provider_breakers SET is_open = true, reason = 'x', opened_at = clock_timestamp(),"
        " retry_at = clock_timestamp() + %(s)s * interval '1 second' WHERE endpoint = %(endpoint)s",
        {"s": retry_in_s, "endpoint": endpoint},
    )


async def test_due_jobs_then_by_run_after_and_then_by_id(db: Database, database_url: str) -> None:
    first, second, third, fourth = await seed(database_url, 4)
    await db.execute("UPDATE outbox SET due_at = now() - interval '1 minute'")
    await db.execute("UPDATE outbox SET due_at = now() - interval '2 minutes' WHERE job_id = %(id)s", {"id": third})
    await db.execute("UPDATE outbox SET due_at = now() + interval '2 minutes' WHERE job_id = %(id)s", {"id": second})
    assert await taken(db) == [third, first, fourth]


async def test_passes_when_eight_at_once_then_they_share_the_room(db: Database, database_url: str) -> None:
    jobs = await seed(database_url, 120)
    passes = await asyncio.gather(*(taken(db, one_a_minute(burst=50)) for _ in range(8)))
    assert sorted(job_id for letters in passes for job_id in letters) == jobs[:26], "2 calls a job, up to 50 and a bit"


@pytest.mark.parametrize("stage", ["being put", "announced", "running"])
async def test_jobs_when_on_their_way_then_their_calls_are_promised(
    db: Database, database_url: str, stage: str
) -> None:
    jobs = await seed(database_url, 10)
    limits = one_a_minute(burst=4)
    if stage == "being put":
        assert await taken(db, limits) == jobs[:3]
    else:
        assert await announce(db, limits) == jobs[:3]
    if stage == "running":
        for job_id in jobs[:3]:
            assert await send(db, "claim", await job_row(db, job_id))

    assert await taken(db, limits) == []

    await db.execute("UPDATE outbox SET claimed_until = NULL")
    await db.execute("UPDATE jobs SET announced_at = NULL")
    for job_id in jobs[:3]:
        await send(db, "give_back", await job_row(db, job_id))
    assert len(await taken(db, limits)) == 3


async def test_running_job_when_it_has_one_call_left_then_one_is_promised(db: Database, database_url: str) -> None:
    limits = one_a_minute(burst=4)
    row = await reach(db, "running")
    await send(db, "save_step", row)
    jobs = await seed(database_url, 5)
    assert await taken(db, limits) == jobs[:2], "1 + 2 + 2 calls: the third would begin beyond 4"


async def test_long_job_then_it_counts_for_four_calls(db: Database, database_url: str) -> None:
    jobs = await seed(database_url, 5)
    await db.execute("UPDATE jobs SET chat_calls_left = 40")
    assert await taken(db, one_a_minute(burst=8)) == jobs[:3]


async def test_lane_when_paused_for_longer_than_the_forecast_then_nothing_is_announced(
    db: Database, database_url: str
) -> None:
    jobs = await seed(database_url, 3)
    limits = Limits.per_minute(calls=600, burst=100, tokens=0)
    lane = Lane(db, limits, 3600)
    await lane.pause(60, base_s=2, cap_s=60)
    await db.execute("UPDATE provider_lane SET at = at - interval '50 seconds'")
    assert await taken(db, limits) == [], "the level is back, but nobody may call"
    await db.execute("UPDATE provider_lane SET paused_until = now() + interval '1 second'")
    assert await taken(db, limits) == jobs


async def test_lane_when_tokens_are_the_scarcer_then_they_decide(db: Database, database_url: str) -> None:
    jobs = await seed(database_url, 10)
    limits = Limits.per_minute(calls=6000, burst=None, tokens=1000)
    await db.execute("UPDATE provider_lane SET mean_tokens = 250, calls = 100, tokens = 1000, at = clock_timestamp()")
    assert await taken(db, limits) == jobs[:3], "4 calls now and less than one to come"


async def test_backlog_when_held_then_it_can_be_cancelled_and_leaves_its_place(db: Database, database_url: str) -> None:
    jobs = await seed(database_url, 6)
    limits = one_a_minute(burst=4)
    assert await announce(db, limits) == jobs[:3]
    assert await people.cancel(db, jobs[3])
    await db.execute("UPDATE jobs SET announced_at = NULL, state = 'cancelled', finished_at = now() WHERE job_id < 3")
    assert await announce(db, limits) == jobs[4:]
    assert await db.fetch_dicts("SELECT job_id FROM outbox") == []


async def test_pending_when_rows_are_held_then_they_do_not_count(db: Database, database_url: str) -> None:
    await seed(database_url, 6)
    await db.execute("UPDATE outbox SET due_at = now() - interval '1 hour' WHERE job_id > 3")
    await db.execute("UPDATE outbox SET due_at = now() - interval '2 hours' WHERE job_id <= 3")
    lane = Lane(db, one_a_minute(burst=4), 3600)
    pending = await outbox.pending(db, "tickets", lane, share_limit=outbox.NO_LIMIT)
    assert (pending.letters, round(pending.oldest_s / 3600)) == (3, 2)
    await announce(db, lane.limits)
    assert await outbox.pending(db, "tickets", lane, share_limit=outbox.NO_LIMIT) == outbox.Pending(0, 0)
    assert await outbox.is_held(db, "tickets")


async def test_breaker_when_open_then_no_job_whose_next_step_needs_it(db: Database, database_url: str) -> None:
    jobs = await seed(database_url, 3)
    await open_breaker(db, "chat", retry_in_s=60)
    assert await taken(db) == []
    await db.execute("UPDATE jobs SET endpoint = 'embeddings', chat_calls_left = 0 WHERE job_id = %(id)s", {"id": 2})
    await db.execute("UPDATE outbox SET endpoint = 'embeddings' WHERE job_id = %(id)s", {"id": 2})
    assert await taken(db) == [jobs[1]]


async def test_breaker_when_half_open_then_one_job_and_the_next_when_its_trial_is_over(
    db: Database, database_url: str
) -> None:
    jobs = await seed(database_url, 3)
    await open_breaker(db, "chat", retry_in_s=0)
    assert await announce(db) == jobs[:1]
    assert await announce(db) == []
    row = await job_row(db, jobs[0])
    assert await send(db, "claim", row)
    assert await announce(db) == []
    assert await send(db, "give_back", await job_row(db, jobs[0]))
    await db.execute("UPDATE provider_breakers SET trial_until = now() + interval '1 minute'")
    assert await announce(db) == [], "somebody is at the trial"
    await db.execute("UPDATE provider_breakers SET trial_until = NULL")
    assert await announce(db) == jobs[1:2]


async def test_breaker_when_half_open_and_two_passes_come_within_one_put_then_one_job(
    db: Database, database_url: str
) -> None:
    jobs = await seed(database_url, 3)
    await open_breaker(db, "chat", retry_in_s=0)
    assert await taken(db) == jobs[:1]
    assert await taken(db) == [], "the first pass is just putting its letter"


async def test_pass_when_much_is_due_for_each_endpoint_then_it_takes_no_more_than_it_can_put(
    db: Database, database_url: str
) -> None:
    await seed(database_url, 60)
    await db.execute("UPDATE outbox SET endpoint = (ARRAY['chat', 'embeddings', NULL])[1 + mod(job_id, 3)]")
    assert len(await taken(db)) <= 16
