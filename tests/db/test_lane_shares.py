"""Who has the quota first: tickets, and a report what they leave, one permit in four at least."""

from __future__ import annotations

from typing import LiteralString

import pytest

from shared.db import Database
from shared.provider.lane import Lane, Limits
from shared.queues import outbox
from tests.stage import job_row, seed

FIVE_LEFT = Limits.per_minute(calls=1, burst=5, tokens=0)
NO_LIMIT = Limits.per_minute(calls=0, burst=None, tokens=0)
MOST_REPORTS = 2

REPORTS = """
WITH job AS (
    INSERT INTO jobs (kind, queue, workspace_id, actor, max_attempts, deadline_s, endpoint, chat_calls_left, share)
    SELECT 'support_report', 'reports', 'team_42', 'workspace:team_42', 5, 600, 'chat', %(calls)s, 'reports'
    FROM generate_series(1, %(how_many)s)
    RETURNING job_id, queue, delivery, endpoint
)
INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint, due_at)
SELECT queue, 'work', job_id, delivery, endpoint, now() - interval '1 hour' FROM job RETURNING job_id
"""


async def reports(db: Database, how_many: int, *, calls: int = 13) -> list[int]:
    """Queued reports that came an hour before everything else, each with so many calls before it."""
    return [row["job_id"] for row in await db.fetch_dicts(REPORTS, {"how_many": how_many, "calls": calls})]


async def tickets(db: Database, database_url: str, how_many: int) -> list[int]:
    """Queued tickets whose next step is a chat call."""
    jobs = await seed(database_url, how_many)
    await db.execute("UPDATE outbox SET endpoint = 'chat'")
    return jobs


async def announced(db: Database, queue: str, limits: Limits) -> list[int]:
    """What one pass announces, all loops of it."""
    lane, found = Lane(db, limits, 3600), []
    while letters := await outbox.take_work(db, queue, lane, limit=16, share_limit=MOST_REPORTS):
        await outbox.sent(db, letters)
        found += [letter.job_id for letter in letters]
    return found


async def granted(lane: Lane, *, yields: bool) -> bool:
    return (await lane.take(1, yields=yields)).is_granted


async def fill(db: Database, calls: int) -> None:
    await db.execute("UPDATE provider_lane SET calls = %(n)s, at = clock_timestamp()", {"n": calls})


async def test_permits_when_tickets_wait_then_a_report_has_every_fourth_whoever_asks_more_often(
    db: Database, database_url: str
) -> None:
    await tickets(db, database_url, 1)
    await db.execute("UPDATE provider_lane SET since_report = 0")
    lane = Lane(db, Limits.per_minute(calls=1, burst=100, tokens=0), 3600)
    taken: list[str] = []
    for _ in range(12):
        await fill(db, 3)
        asked = [await granted(lane, yields=True) for _ in range(3)]  # a report asks three times as often
        taken += ["report"] * sum(asked)
        taken += ["ticket"] * await granted(lane, yields=False)
    assert taken.count("report") == 3, taken
    assert all(taken[at : at + 4].count("report") <= 1 for at in range(len(taken))), taken


async def test_permits_when_no_ticket_asks_though_some_wait_then_the_report_is_not_starved(
    db: Database, database_url: str
) -> None:
    await tickets(db, database_url, 1)
    lane = Lane(db, FIVE_LEFT, 3600)
    await fill(db, 5)
    assert await granted(lane, yields=True)


@pytest.mark.parametrize(
    "away",
    [
        "DELETE FROM outbox",
        "UPDATE outbox SET due_at = now() + interval '1 hour'",
        "UPDATE outbox SET endpoint = 'embeddings'",
    ],
)
async def test_permits_when_no_ticket_waits_for_the_lane_then_the_report_has_all(
    db: Database, database_url: str, away: LiteralString
) -> None:
    await tickets(db, database_url, 1)
    await db.execute(away)
    lane = Lane(db, FIVE_LEFT, 3600)
    await fill(db, 3)
    assert [await granted(lane, yields=True) for _ in range(4)] == [True, True, True, False]


async def test_announcing_when_fifty_reports_wait_then_tickets_go_as_if_there_were_none(
    db: Database, database_url: str
) -> None:
    await reports(db, 50)
    assert len(await announced(db, "reports", NO_LIMIT)) == MOST_REPORTS
    quick = await tickets(db, database_url, 2)
    await fill(db, 5)
    assert await announced(db, "tickets", FIVE_LEFT) == quick


async def test_announcing_when_tickets_fill_the_lane_then_one_report_all_the_same(
    db: Database, database_url: str
) -> None:
    first, *_ = await reports(db, 3)
    await tickets(db, database_url, 40)
    await fill(db, 5)
    assert len(await announced(db, "tickets", FIVE_LEFT)) < 5
    assert await announced(db, "reports", FIVE_LEFT) == [first]
    assert await announced(db, "reports", FIVE_LEFT) == []


@pytest.mark.parametrize("calls", [0, 13])
async def test_announcing_when_reports_are_under_way_then_no_more_than_may_be(db: Database, calls: int) -> None:
    jobs = await reports(db, 5, calls=calls)
    assert await announced(db, "reports", NO_LIMIT) == jobs[:MOST_REPORTS]
    await db.execute(
        "UPDATE jobs SET state = 'running', announced_at = NULL, run = 1, attempts = 1, claim_id = gen_random_uuid(),"
        " run_started_at = now(), locked_until = now() + interval '1 minute' WHERE job_id = %(id)s",
        {"id": jobs[0]},
    )
    assert await announced(db, "reports", NO_LIMIT) == []
    await db.execute(
        "UPDATE jobs SET state = 'cancelled', announced_at = NULL, finished_at = now() WHERE job_id = %(id)s",
        {"id": jobs[1]},
    )
    assert await announced(db, "reports", NO_LIMIT) == [jobs[2]]
    assert (await job_row(db, jobs[3]))["announced_at"] is None
