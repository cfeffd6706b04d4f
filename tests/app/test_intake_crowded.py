"""Intake when many requests come at once, on more than one process, with few connections each."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from shared.api.asked import NewTicket
from shared.errors import AppError
from shared.idempotency import Key
from shared.intake import Asked
from shared.settings import Settings
from shared.wiring import App, build
from tests.front import Answer, Front
from tests.stage import saved, transaction, until

GOOD = {"customer_id": "C-0022", "subject": "Charged twice"}
KEY = {"Idempotency-Key": "key-0001"}
FEW = pytest.mark.settings(DATABASE_POOL_SIZE="3")
ANSWER = {
    "ticket_id": "T-7",
    "job_id": 7,
    "state": "queued",
    "status_url": "/v1/jobs/7",
    "queued_ahead": 0,
    "estimated_wait_seconds": 0.0,
}
HOLD = """
INSERT INTO idempotency_keys (route, actor, key, fingerprint, answer, expires_at)
VALUES ('POST /v1/tickets', 'customer:C-0022', 'key-0001', %(fingerprint)s, %(answer)s, now() + interval '1 hour')
"""


@pytest.fixture
async def other_process(settings: Settings) -> AsyncIterator[App]:
    """The app as another process of the same installation has it."""
    built = await build(settings)
    yield built
    await built.close()


def held_row() -> dict[str, object]:
    """A key as another process that is not done yet holds it, for GOOD."""
    new = NewTicket.model_validate(GOOD)
    key = Key.of("key-0001", route="POST /v1/tickets", actor="customer:C-0022", body=new)
    return {"fingerprint": key.fingerprint, "answer": json.dumps(ANSWER)}


async def slowest_of(front: Front, times: int) -> float:
    """The longest time in seconds that another route takes meanwhile."""
    took = []
    for _ in range(times):
        began = time.monotonic()
        assert (await front.get("/v1/jobs/1")).status in (200, 404)
        took.append(time.monotonic() - began)
    return max(took)


async def accept(app: App, key: str | None) -> tuple[int | str, bool]:
    """A ticket sent to one process: the job's id, or the code of the refusal; and whether it was a replay."""
    try:
        accepted, is_replay = await app.intake.accept_ticket(NewTicket.model_validate(GOOD), Asked("r"), key=key)
    except AppError as exc:
        return exc.code, False
    return accepted.job_id, is_replay


async def locks(app: App) -> int:
    """How many sessions wait for a key or a customer's window."""
    row = await app.db.fetch_dict(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT%'"
    )
    return int(row["n"]) if row else 0


@FEW
async def test_key_when_fifty_bring_it_to_each_of_two_processes_then_one_job_and_other_routes_stay_quick(
    app: App, other_process: App, front: Front
) -> None:
    requests = [asyncio.create_task(accept(home, "key-0001")) for _ in range(50) for home in (app, other_process)]
    assert await slowest_of(front, 20) < 1
    assert Counter(await asyncio.gather(*requests)) == {(1, True): 99, (1, False): 1}
    assert [(await saved(app.db))[table] for table in ("tickets", "jobs")] == [1, 1]


@FEW
async def test_key_when_another_process_holds_it_then_twenty_wait_on_one_connection_and_all_get_its_answer(
    app: App, front: Front, database_url: str
) -> None:
    async with transaction(database_url) as other:
        await other.execute(HOLD, held_row())
        requests = [asyncio.create_task(front.post("/v1/tickets", GOOD, KEY)) for _ in range(20)]
        await until(lambda: locks(app), "a request waits for the key")
        assert await slowest_of(front, 2) < 1
        assert await locks(app) == 1
        await other.commit()

    for answer in await asyncio.gather(*requests):
        assert (answer.status, answer.json(), answer.headers["idempotent-replayed"]) == (202, ANSWER, "true")
    assert (await saved(app.db))["tickets"] == 0


@FEW
async def test_key_when_held_and_others_bring_it_with_other_bodies_then_each_gets_422_and_other_routes_stay_quick(
    app: App, front: Front, database_url: str
) -> None:
    async with transaction(database_url) as other:
        await other.execute(HOLD, held_row())
        requests = [
            asyncio.create_task(front.post("/v1/tickets", GOOD | {"body": str(number)}, KEY)) for number in range(12)
        ]
        await until(lambda: locks(app), "a request waits for the key")
        assert await slowest_of(front, 2) < 1
        await other.commit()

    for answer in await asyncio.gather(*requests):
        assert (answer.status, answer.error["code"]) == (422, "idempotency_key_reused")
    assert (await saved(app.db))["tickets"] == 0


async def test_key_when_its_two_bodies_come_at_once_then_the_first_wins_and_the_other_is_told(front: Front) -> None:
    bodies = [GOOD, GOOD | {"subject": "Charged thrice"}]
    answers = await asyncio.gather(*(front.post("/v1/tickets", bodies[n % 2], KEY) for n in range(20)))
    assert Counter(answer.status for answer in answers) == {202: 10, 422: 10}
    assert len({answer.json()["job_id"] for answer in answers if answer.status == 202}) == 1


async def test_key_when_the_one_at_work_is_cancelled_then_the_next_one_goes(
    app: App, front: Front, database_url: str
) -> None:
    async with transaction(database_url) as other:
        await other.execute(HOLD, held_row())
        first, *others = [asyncio.create_task(front.post("/v1/tickets", GOOD, KEY)) for _ in range(3)]
        await until(lambda: locks(app), "the first request waits for the key")
        first.cancel()
        await asyncio.wait({first})
        await other.rollback()
    answers = await asyncio.gather(*others)
    assert sorted(answer.headers.get("idempotent-replayed", "") for answer in answers) == ["", "true"]
    assert (await saved(app.db))["tickets"] == 1


@pytest.mark.settings(RATE_LIMIT_PER_MINUTE="1")
async def test_key_when_all_who_bring_it_are_refused_then_each_is_told_and_the_key_is_free(
    app: App, front: Front
) -> None:
    await front.post("/v1/tickets", GOOD)
    answers = await asyncio.gather(*(front.post("/v1/tickets", GOOD, KEY) for _ in range(20)))
    assert {answer.status for answer in answers} == {429}
    assert await app.db.fetch_dicts("SELECT key FROM idempotency_keys") == []


@pytest.mark.settings(RATE_LIMIT_PER_MINUTE="5")
async def test_rate_when_one_customer_writes_to_two_processes_at_once_then_the_limit_holds_for_both(
    app: App, other_process: App
) -> None:
    answers = await asyncio.gather(*(accept(home, None) for _ in range(10) for home in (app, other_process)))
    assert Counter(isinstance(job_id, int) for job_id, _ in answers) == {True: 5, False: 15}
    row = await app.db.fetch_dict("SELECT cardinality(accepted_at) AS n FROM rate_windows")
    assert row == {"n": 5}


@pytest.mark.settings(RATE_LIMIT_PER_MINUTE="2")
async def test_rate_when_the_limit_was_higher_before_then_the_newest_entries_count(app: App, front: Front) -> None:
    await app.db.execute(
        "INSERT INTO rate_windows VALUES ('C-0022', ARRAY(SELECT now() - n * interval '10 seconds'"
        " FROM generate_series(9, 1, -1) AS n))"
    )
    answer = await front.post("/v1/tickets", GOOD)
    assert (answer.status, 35 <= int(answer.headers["retry-after"]) <= 40) == (429, True)
    await app.db.execute(
        "UPDATE rate_windows SET accepted_at = ARRAY(SELECT t - interval '41 s' FROM unnest(accepted_at) AS t)"
    )
    assert [(await front.post("/v1/tickets", GOOD)).status for _ in range(2)] == [202, 429]


@pytest.mark.settings(QUEUE_MAX="5")
async def test_queue_when_twenty_come_for_five_places_then_passed_by_no_more_than_those_in_flight(
    app: App, front: Front
) -> None:
    at_once = 4

    async def send(count: int) -> list[Answer]:
        return [await front.post("/v1/tickets", GOOD) for _ in range(count)]

    answers = [answer for some in await asyncio.gather(*(send(5) for _ in range(at_once))) for answer in some]
    accepted = [answer for answer in answers if answer.status == 202]
    assert 5 <= len(accepted) <= 5 + at_once
    assert {answer.error["code"] for answer in answers if answer.status != 202} == {"queue_full"}
    assert len(accepted) == (await saved(app.db))["jobs"]


async def test_jobs_ahead_when_some_wait_for_a_retry_then_those_do_not_stand_before_a_new_one(
    app: App, front: Front
) -> None:
    for _ in range(3):
        await front.post("/v1/tickets", GOOD)
    await app.db.execute("UPDATE jobs SET run_after = now() + interval '1 minute' WHERE job_id = 1")
    assert (await front.post("/v1/tickets", GOOD)).json()["queued_ahead"] == 2


@pytest.mark.settings(PROVIDER_CHAT_RPM="60", PROVIDER_CHAT_TPM="0")
async def test_wait_when_nobody_may_call_then_it_is_told(app: App, front: Front) -> None:
    await app.db.execute("UPDATE provider_lane SET paused_until = now() + interval '40 seconds'")
    assert 35 <= (await front.post("/v1/tickets", GOOD)).json()["estimated_wait_seconds"] <= 40
    await app.db.execute("UPDATE provider_lane SET paused_until = NULL")
    assert (await front.post("/v1/tickets", GOOD)).json()["estimated_wait_seconds"] == 0
    await app.db.execute(
        "UPDATE provider_breakers SET is_open = true, reason = 'x', retry_at = now() + interval '20 seconds'"
        " WHERE endpoint = 'chat'"
    )
    assert 15 <= (await front.post("/v1/tickets", GOOD)).json()["estimated_wait_seconds"] <= 20
