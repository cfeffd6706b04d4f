"""Limits on what is accepted: a customer's rate, the queue's length; and what a caller is told about the wait."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from shared.wiring import App
from tests.front import Answer, Front
from tests.stage import saved

ADA = {"customer_id": "C-0022", "subject": "x"}
BEN = {"customer_id": "C-0023", "subject": "x"}


async def send(front: Front, body: dict[str, str], times: int) -> list[Answer]:
    return list(await asyncio.gather(*(front.post("/v1/tickets", body) for _ in range(times))))


@pytest.mark.settings(RATE_LIMIT_PER_MINUTE="3")
async def test_customer_when_ten_tickets_come_at_once_then_three_are_accepted_and_others_unaffected(
    app: App, front: Front
) -> None:
    answers = await send(front, ADA, 10)

    assert Counter(answer.status for answer in answers) == {202: 3, 429: 7}
    for answer in answers:
        assert "rate_limit;dur=" in answer.headers["server-timing"]
        if answer.status == 429:
            assert answer.error["code"] == "rate_limited"
            assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert (await saved(app.db))["tickets"] == 3
    assert [answer.status for answer in await send(front, BEN, 3)] == [202] * 3


@pytest.mark.settings(RATE_LIMIT_PER_MINUTE="2")
async def test_customer_when_the_oldest_ticket_leaves_the_window_then_one_more_is_accepted(
    app: App, front: Front
) -> None:
    await send(front, ADA, 2)
    await app.db.execute(
        "UPDATE rate_windows SET accepted_at = ARRAY[now() - interval '61 seconds', now() - interval '20 seconds']"
    )
    first, second = [await front.post("/v1/tickets", ADA) for _ in range(2)]
    assert (first.status, second.status) == (202, 429)
    assert 30 <= int(second.headers["retry-after"]) <= 40
    for _ in range(5):
        assert (await front.post("/v1/tickets", ADA)).status == 429
    await app.db.execute(
        "UPDATE rate_windows SET accepted_at = ARRAY(SELECT t - interval '41 s' FROM unnest(accepted_at) t)"
    )
    assert [(await front.post("/v1/tickets", ADA)).status for _ in range(2)] == [202, 429]


@pytest.mark.settings(RATE_LIMIT_PER_MINUTE="1", QUEUE_MAX="1")
async def test_replay_when_both_limits_are_reached_then_answered_all_the_same(app: App, front: Front) -> None:
    key = {"Idempotency-Key": "key-0001"}
    assert (await front.post("/v1/tickets", ADA, key)).status == 202
    assert (await front.post("/v1/tickets", ADA)).status == 429
    assert (await front.post("/v1/tickets", BEN)).status == 503
    replay = await front.post("/v1/tickets", ADA, key)
    assert (replay.status, replay.headers["idempotent-replayed"]) == (202, "true")


@pytest.mark.settings(RATE_LIMIT_PER_MINUTE="1")
async def test_limits_when_the_customer_is_unknown_then_404_comes_first(front: Front) -> None:
    for _ in range(3):
        assert (await front.post("/v1/tickets", ADA | {"customer_id": "C-9999"})).status == 404


@pytest.mark.settings(QUEUE_MAX="2")
async def test_queue_when_full_then_503_with_a_time_until_one_has_gone(app: App, front: Front) -> None:
    assert [(await front.post("/v1/tickets", ADA)).status for _ in range(2)] == [202, 202]

    full = await front.post("/v1/tickets", BEN)

    assert (full.status, full.error["code"]) == (503, "queue_full")
    assert int(full.headers["retry-after"]) >= 1
    assert (await saved(app.db))["tickets"] == 2
    await front.post("/v1/jobs/1/cancel")
    assert (await front.post("/v1/tickets", BEN)).status == 202


@pytest.mark.settings(QUEUE_MAX="1", RATE_LIMIT_PER_MINUTE="5")
async def test_customer_when_refused_by_a_full_queue_then_it_does_not_count_for_the_rate(
    app: App, front: Front
) -> None:
    await send(front, ADA, 1)
    for answer in await send(front, BEN, 9):
        assert answer.error["code"] == "queue_full"
    await app.db.execute("UPDATE jobs SET state = 'cancelled', finished_at = now(), announced_at = NULL")
    for _ in range(5):
        assert (await front.post("/v1/tickets", BEN)).status == 202
        await app.db.execute(
            "UPDATE jobs SET state = 'cancelled', finished_at = now(), announced_at = NULL WHERE state = 'queued'"
        )


async def test_tickets_when_others_wait_then_told_how_many_are_ahead(app: App, front: Front) -> None:
    ahead = [(await front.post("/v1/tickets", ADA)).json()["queued_ahead"] for _ in range(4)]
    assert ahead == [0, 1, 2, 3]


@pytest.mark.settings(PROVIDER_CHAT_RPM="60", PROVIDER_CHAT_BURST="4", PROVIDER_CHAT_TPM="0")
async def test_ticket_when_the_quota_is_used_up_then_its_wait_is_the_calls_ahead_over_the_rate(
    app: App, front: Front
) -> None:
    first = (await front.post("/v1/tickets", ADA)).json()
    assert first["estimated_wait_seconds"] == 0
    waits = [(await front.post("/v1/tickets", ADA)).json()["estimated_wait_seconds"] for _ in range(10)]
    assert waits == sorted(waits)
    # 10 jobs ahead need 20 calls; 4 are there, the rest comes at one a second (the relay announces 2.5 s ahead).
    assert 10 <= waits[-1] <= 16
