"""The two breakers of one provider: what one endpoint's trouble says of the other."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

from shared.db import Database
from shared.provider.breaker import Breaker
from tests.db.breaker_calls import Call, begun, fail_once, let_pass, opened, row_of, state


async def test_failures_when_of_one_endpoint_then_the_other_stays_closed_but_believes_its_first_failure(
    db: Database, chat: Breaker
) -> None:
    embeddings = replace(chat, endpoint="embeddings")
    await opened(db, chat)
    assert await state(db, "embeddings") == "closed"
    await (await begun(embeddings)).succeed()
    assert await fail_once(embeddings)


async def test_failures_when_of_both_endpoints_at_the_same_moment_then_counted_together(
    db: Database, chat: Breaker
) -> None:
    embeddings = replace(chat, endpoint="embeddings")
    for _ in range(10):
        under_way = [await begun(breaker) for breaker in (chat, embeddings, chat, embeddings)]
        assert Counter(await asyncio.gather(*(call.fail() for call in under_way)))[True] >= 1
        assert {await state(db), await state(db, "embeddings")} >= {"open"}
        await db.execute(
            "UPDATE provider_breakers SET is_open = false, failures = 0, reason = NULL, retry_at = NULL, trials = 0"
        )


async def test_calls_when_the_other_endpoint_is_down_then_one_at_a_time_until_one_succeeds(
    db: Database, chat: Breaker
) -> None:
    embeddings = replace(chat, endpoint="embeddings")
    before = await begun(embeddings)
    await opened(db, chat)

    first, second = await begun(embeddings), Call(embeddings)
    assert not await second.begin()
    await before.succeed()
    assert await begun(embeddings), "an answer makes room for one more call"
    assert not await second.begin(), "not for all: it was under way when the outage set in"

    await first.succeed()
    assert [await Call(embeddings).begin() for _ in range(8)] == [True] * 8


async def test_set_up_when_wrong_for_one_endpoint_then_the_other_goes_by_its_own_failures(
    db: Database, chat: Breaker
) -> None:
    embeddings = replace(chat, endpoint="embeddings")
    await (await begun(embeddings)).fail(at_once=True, why="provider_config: it does not know this model")
    assert [await fail_once(chat) for _ in range(3)] == [False, False, True]
    chat_again_at = (await row_of(db))["retry_at"]
    await db.execute("UPDATE provider_breakers SET retry_at = now() WHERE endpoint = 'embeddings'")
    await (await begun(embeddings)).fail(at_once=True, why="provider_config: it does not know this model")
    assert (await row_of(db))["retry_at"] == chat_again_at


async def test_trial_when_both_are_open_then_one_at_a_time_and_its_failure_puts_off_the_other(
    db: Database, chat: Breaker
) -> None:
    embeddings = replace(chat, endpoint="embeddings")
    await opened(db, chat)
    await fail_once(embeddings)
    await let_pass(db, 60)
    trial = await begun(chat)
    assert not await Call(embeddings).begin()
    await trial.fail()
    assert not await Call(embeddings).begin()
    assert await state(db, "embeddings") == "open"
    await let_pass(db, 60)
    await (await begun(chat)).succeed()
    await (await begun(embeddings)).succeed()
    assert await state(db, "embeddings") == "closed"
