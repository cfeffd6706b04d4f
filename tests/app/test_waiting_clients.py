"""Callers who wait for a change: what they are told and when, and how little they cost the database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import azure.functions as func
import pytest

from shared.api.requests import prefer_seen, prefer_wait_s
from shared.db import Connection, Database
from shared.errors import DatabaseUnavailable
from shared.waiting import EVERY_S, WaitingRoom
from shared.wiring import App
from tests.front import Front
from tests.stage import accept, seed, until
from tests.tcp_wire import Wire

T = TypeVar("T")


class Counting(Database):
    """A database that counts how often it is asked, over its one connection."""

    asked = 0

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, in_transaction: bool = False) -> T:
        self.asked += 1
        return await super().run(work, in_transaction=in_transaction)


class FailingOnce(Database):
    """A database whose first answer is that it is away, when `may_fail` is set; then it is back."""

    def __init__(self, url: str) -> None:
        super().__init__(url, pool_size=1)
        self.is_asked = asyncio.Event()
        self.may_fail = asyncio.Event()

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, in_transaction: bool = False) -> T:
        if not self.is_asked.is_set():
            self.is_asked.set()
            await self.may_fail.wait()
            raise DatabaseUnavailable
        return await super().run(work, in_transaction=in_transaction)


async def seen(room: WaitingRoom, how_many: int, *, progress: int = 0) -> None:
    """Wait until so many callers wait, and the poller has looked for each."""

    async def are_seen() -> bool:
        return [waiter.progress for waiter in room.waiters] == [progress] * how_many

    await until(are_seen, f"{how_many} callers have been seen")


@pytest.fixture
async def counting(database_url: str) -> AsyncIterator[Counting]:
    database = Counting(database_url, pool_size=1)
    await database.open()
    yield database
    await database.close()


async def test_two_hundred_callers_when_nothing_changes_then_a_few_statements_a_second_and_no_connection_held(
    counting: Counting, db: Database, database_url: str
) -> None:
    jobs = await seed(database_url, 200)
    room = WaitingRoom(counting)
    began = time.monotonic()
    waiting = [asyncio.create_task(room.wait(job_id, for_s=1.8)) for job_id in jobs]
    await until(lambda: _is(counting.asked >= 2), "the poller has looked twice")
    assert await asyncio.wait_for(counting.fetch_dict("SELECT 1 AS one"), 1) == {"one": 1}

    answers = await asyncio.gather(*waiting)

    took_s = time.monotonic() - began
    assert [answer.job_id for answer in answers if answer] == jobs
    assert took_s >= 1.8
    assert counting.asked - 1 <= took_s / EVERY_S + 2
    assert 1 / EVERY_S <= 5, "statements a second"


async def test_callers_when_one_job_changes_then_its_callers_are_told_and_nobody_else(
    db: Database, database_url: str
) -> None:
    moved, quiet = await seed(database_url, 2)
    room = WaitingRoom(db)
    told = [asyncio.create_task(room.wait(moved, for_s=20)) for _ in range(3)]
    patient = asyncio.create_task(room.wait(quiet, for_s=20))
    await seen(room, 4)

    await db.execute("UPDATE jobs SET progress = 40 WHERE job_id = %(id)s", {"id": moved})

    answers = await asyncio.wait_for(asyncio.gather(*told), 5)
    assert [(answer.job_id, answer.progress) for answer in answers if answer] == [(moved, 40)] * 3
    assert not patient.done()
    patient.cancel()


async def test_caller_when_it_comes_after_the_change_then_waits_for_the_next_one(
    db: Database, database_url: str
) -> None:
    [job_id] = await seed(database_url, 1)
    room = WaitingRoom(db)
    early = asyncio.create_task(room.wait(job_id, for_s=20))
    await seen(room, 1)
    await db.execute("UPDATE jobs SET progress = 40")
    late = asyncio.create_task(room.wait(job_id, for_s=20))

    assert (await asyncio.wait_for(early, 5)) is not None
    await seen(room, 1, progress=40)
    assert not late.done()
    await db.execute("UPDATE jobs SET progress = 60")

    answer = await asyncio.wait_for(late, 5)
    assert answer is not None
    assert answer.progress == 60


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "dead_letter"])
async def test_caller_when_the_job_has_ended_then_answered_at_once(db: Database, database_url: str, state: str) -> None:
    [job_id] = await seed(database_url, 1)
    await db.execute(
        "UPDATE jobs SET state = %(state)s, finished_at = now(),"
        " result = CASE WHEN %(state)s = 'succeeded' THEN '{}'::jsonb END,"
        " last_error = CASE WHEN %(state)s IN ('failed', 'dead_letter') THEN '{\"code\": \"x\"}'::jsonb END",
        {"state": state},
    )
    answer = await asyncio.wait_for(WaitingRoom(db).wait(job_id, for_s=20), 5)
    assert answer is not None
    assert answer.state == state


async def test_caller_when_it_hangs_up_then_it_is_forgotten_and_nobody_polls_any_more(
    counting: Counting, database_url: str
) -> None:
    [job_id] = await seed(database_url, 1)
    room = WaitingRoom(counting)
    waiting = asyncio.create_task(room.wait(job_id, for_s=20))
    await until(lambda: _is(counting.asked >= 1), "the poller looks")

    waiting.cancel()

    await until(lambda: _is(not room.is_polling), "the poller ends")
    assert not room.waiters


async def test_caller_when_it_comes_while_the_poller_meets_an_outage_then_it_is_asked_for_all_the_same(
    database_url: str,
) -> None:
    [job_id] = await seed(database_url, 1)
    database = FailingOnce(database_url)
    await database.open()
    room = WaitingRoom(database)
    unlucky = asyncio.create_task(room.wait(job_id, for_s=20))
    await database.is_asked.wait()
    lucky = asyncio.create_task(room.wait(job_id, for_s=0.1))
    await until(lambda: _is(len(room.waiters) == 2), "both wait")

    database.may_fail.set()

    with pytest.raises(DatabaseUnavailable):
        await unlucky
    assert await asyncio.wait_for(lucky, 2) is not None
    await database.close()


async def test_callers_when_the_database_goes_away_while_they_wait_then_503(front: Front, app: App, wire: Wire) -> None:
    job_id = await accept(app)
    waiting = [asyncio.create_task(front.get(f"/v1/jobs/{job_id}", {"Prefer": "wait=20"})) for _ in range(5)]
    await seen(app.status.waiting_room, 5)

    wire.cut()

    answers = await asyncio.wait_for(asyncio.gather(*waiting), 10)
    assert [(answer.status, answer.error["code"]) for answer in answers] == [(503, "database_unavailable")] * 5


async def test_caller_when_the_database_does_not_answer_then_503_soon_after_its_time(
    front: Front, app: App, wire: Wire
) -> None:
    job_id = await accept(app)
    await app.kick.settled()
    wire.freeze()
    began = time.monotonic()
    answer = await front.get(f"/v1/jobs/{job_id}", {"Prefer": "wait=1"})
    assert (answer.status, answer.error["code"]) == (503, "database_unavailable")
    assert time.monotonic() - began < 5
    wire.mend()


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        ("wait=0", 0),
        ("wait=5", 5),
        ("WAIT=5", 5),
        ("wait=60", 60),
        ("wait=61", 60),
        ("wait=9999999999999999999", 60),
        ("wait=5, respond-async", 5),
        ("respond-async,wait=5", 5),
        ("wait = 5", 5),
        ("wait", 0),
        ("wait=", 0),
        ("wait=-1", 0),
        ("wait=1.5", 0),
        ("wait=٣", 0),
        ("wait=soon", 0),
        ("waiting=5", 0),
        ("", 0),
        ("wait=5; state=running; progress=40", 5),
    ],
)
def test_preference_when_given_then_so_many_seconds_or_none(prefer: str, seconds: int) -> None:
    request = func.HttpRequest("GET", "http://localhost/v1/jobs/1", headers={"Prefer": prefer}, body=b"")
    assert prefer_wait_s(request) == seconds


@pytest.mark.parametrize(
    ("prefer", "seen"),
    [
        ("wait=5; state=running; progress=40", ("running", 40)),
        ("respond-async, wait = 5;progress=0 ; state=queued", ("queued", 0)),
        ("wait=5", None),
        ("wait=5; state=running", None),
        ("wait=5; progress=40", None),
        ("wait=5; state=running; progress=4000000000", None),
        ("wait=5; state=running; progress=half", None),
        ("state=running; progress=40", None),
        ("", None),
    ],
)
def test_preference_when_it_says_what_was_seen_then_both_or_nothing(prefer: str, seen: tuple[str, int] | None) -> None:
    request = func.HttpRequest("GET", "http://localhost/v1/jobs/1", headers={"Prefer": prefer}, body=b"")
    assert prefer_seen(request) == seen


async def test_caller_who_has_seen_something_older_then_told_at_once(app: App, front: Front) -> None:
    job_id = await accept(app)
    began = time.monotonic()
    older = await front.get(f"/v1/jobs/{job_id}", {"Prefer": "wait=20; state=running; progress=0"})
    assert (older.status, older.json()["state"]) == (200, "queued")
    assert time.monotonic() - began < 5
    same = await front.get(f"/v1/jobs/{job_id}", {"Prefer": "wait=1; state=queued; progress=0"})
    assert (same.status, same.json()["state"]) == (200, "queued")
    assert time.monotonic() - began >= 1


async def _is(condition: bool) -> bool:
    return condition
