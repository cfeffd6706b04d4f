"""The breakers' rows: when they open, what a trial may do, and whose results count."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import get_args
from uuid import UUID, uuid4

import pytest

from shared.db import Database, Row
from shared.provider import breaker as breakers
from shared.provider.breaker import Breaker, Entry
from shared.provider.client import Endpoint

WHY = "provider_unavailable: The provider answered 503."


class Call:
    """One call as the gate makes it: asks, and tells what came of it."""

    def __init__(self, breaker: Breaker) -> None:
        self.breaker = breaker
        self.call_id: UUID = uuid4()
        self.entry: Entry | None = None

    async def begin(self) -> bool:
        self.entry = await self.breaker.enter(self.call_id)
        return self.entry.may_call

    async def succeed(self) -> None:
        assert self.entry is not None
        await self.breaker.succeeded(self.call_id, self.entry)

    async def fail(self, *, at_once: bool = False, why: str = WHY) -> bool:
        assert self.entry is not None
        return await self.breaker.failed(self.call_id, self.entry, why, at_once=at_once)


@pytest.fixture
def chat(db: Database) -> Breaker:
    return Breaker(db, "chat", lease_s=15, threshold=3)


async def begun(breaker: Breaker) -> Call:
    call = Call(breaker)
    assert await call.begin()
    return call


async def fail_once(breaker: Breaker) -> bool:
    return await (await begun(breaker)).fail()


async def state(db: Database, endpoint: Endpoint = "chat") -> str:
    [row] = [row for row in await breakers.states(db) if row["endpoint"] == endpoint]
    found: str = row["state"]
    return found


async def let_pass(db: Database, seconds: float) -> None:
    """Make everything that the breakers remember so many seconds older."""
    await db.execute(
        "UPDATE provider_breakers SET opened_at = opened_at - x.s, retry_at = retry_at - x.s,"
        " trial_until = trial_until - x.s, last_success_at = last_success_at - x.s,"
        " out_until = ARRAY(SELECT u - x.s FROM unnest(out_until) AS u)"
        " FROM (SELECT %(seconds)s * interval '1 second' AS s) AS x",
        {"seconds": seconds},
    )


async def opened(db: Database, chat: Breaker, *, half: bool = False) -> None:
    for _ in range(chat.threshold):
        await fail_once(chat)
    if half:
        await let_pass(db, chat.cool_down_s)
    assert await state(db) == ("half_open" if half else "open")


async def row_of(db: Database) -> Row:
    row = await db.fetch_dict(
        "SELECT *, extract(epoch FROM retry_at - opened_at)::float8 AS cools_s FROM provider_breakers"
        " WHERE endpoint = 'chat'"
    )
    assert row is not None
    return row


async def test_failures_when_three_in_a_row_then_open_and_no_call_goes_through(db: Database, chat: Breaker) -> None:
    assert [await fail_once(chat) for _ in range(3)] == [False, False, True]

    refused = Call(chat)
    assert not await refused.begin()
    assert refused.entry is not None
    assert (refused.entry.is_open, refused.entry.is_trial, refused.entry.reason) == (True, False, WHY)
    assert 9 < refused.entry.wait_s <= 10
    assert await state(db) == "open"


async def test_failures_when_a_success_comes_between_then_counted_anew(db: Database, chat: Breaker) -> None:
    for _ in range(3):
        await fail_once(chat)
        await fail_once(chat)
        await (await begun(chat)).succeed()
    assert await state(db) == "closed"


async def test_failures_when_older_calls_succeed_meanwhile_then_those_speak_of_before(
    db: Database, chat: Breaker
) -> None:
    under_way = [await begun(chat) for _ in range(4)]
    await fail_once(chat)
    for call in under_way:
        await call.succeed()
    assert [await fail_once(chat), await fail_once(chat)] == [False, True]


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


@pytest.mark.parametrize(("attempts", "threshold"), [(1, 1), (2, 1), (3, 2), (4, 3), (5, 3), (100, 3)])
def test_threshold_when_attempts_are_few_then_one_is_left_for_after_the_outage(attempts: int, threshold: int) -> None:
    assert breakers.threshold(attempts) == threshold


async def test_half_open_when_ten_ask_at_once_then_one_trial(db: Database, chat: Breaker) -> None:
    await opened(db, chat, half=True)
    calls = [Call(chat) for _ in range(10)]
    assert Counter(await asyncio.gather(*(call.begin() for call in calls))) == {True: 1, False: 9}
    [trial] = [call for call in calls if call.entry and call.entry.may_call]
    assert trial.entry is not None
    assert trial.entry.is_trial
    assert await state(db) == "half_open"


async def test_trial_when_it_succeeds_then_closed_and_everybody_may_call(db: Database, chat: Breaker) -> None:
    await opened(db, chat, half=True)
    await (await begun(chat)).succeed()
    row = await row_of(db)
    assert (row["is_open"], row["failures"], row["trials"], row["reason"]) == (False, 0, 0, None)
    assert [await Call(chat).begin() for _ in range(8)] == [True] * 8


async def test_trials_when_they_fail_then_steady_at_first_and_then_more_and_more_seldom(
    db: Database, chat: Breaker
) -> None:
    await opened(db, chat)
    cools = []
    for _ in range(8):
        await let_pass(db, 60)
        assert await fail_once(chat)
        cools.append((await row_of(db))["cools_s"])
    assert cools == pytest.approx([10, 10, 10, 20, 40, 60, 60, 60], abs=0.1)


async def test_trial_when_its_lease_is_over_then_another_one_and_the_late_result_counts_no_more(
    db: Database, chat: Breaker
) -> None:
    await opened(db, chat, half=True)
    late = await begun(chat)
    assert not await Call(chat).begin()
    await let_pass(db, 15.1)
    second = await begun(chat)

    await late.succeed()
    assert await state(db) == "half_open", "only the trial that holds the lease may close"
    assert not await late.fail()

    await second.succeed()
    assert await state(db) == "closed"


@pytest.mark.parametrize("has_closed_again", [False, True])
async def test_results_when_their_calls_began_before_it_opened_then_ignored(
    db: Database, chat: Breaker, has_closed_again: bool
) -> None:
    earlier = [await begun(chat) for _ in range(6)]
    await opened(db, chat)
    if has_closed_again:
        await db.execute("UPDATE provider_breakers SET retry_at = now() WHERE endpoint = 'chat'")
        await (await begun(chat)).succeed()
    before = await row_of(db)
    for number, call in enumerate(earlier):
        await (call.succeed() if number % 2 else call.fail())
    assert await row_of(db) == before


async def test_set_up_when_wrong_then_open_at_once_and_one_trial_a_minute(db: Database, chat: Breaker) -> None:
    assert await (await begun(chat)).fail(at_once=True)
    assert (await row_of(db))["cools_s"] == pytest.approx(60, abs=0.1)
    await let_pass(db, 59)
    assert not await Call(chat).begin()
    await let_pass(db, 1)
    trial = await begun(chat)
    assert not await Call(chat).begin()
    await trial.fail(at_once=True)
    assert (await row_of(db))["cools_s"] == pytest.approx(60, abs=0.1)


async def test_quiet_minute_then_four_calls_are_out_until_one_succeeds(db: Database, chat: Breaker) -> None:
    await let_pass(db, 61)
    calls = [Call(chat) for _ in range(10)]
    assert Counter(await asyncio.gather(*(call.begin() for call in calls))) == {True: 4, False: 6}
    waiting = next(call for call in calls if call.entry and not call.entry.may_call)
    assert waiting.entry is not None
    assert (waiting.entry.is_open, waiting.entry.wait_s < 1) == (False, True)

    await next(call for call in calls if call.entry and call.entry.may_call).succeed()

    assert [await Call(chat).begin() for _ in range(10)] == [True] * 10


async def test_quiet_minute_when_the_provider_is_out_then_six_calls_open_it(db: Database, chat: Breaker) -> None:
    await let_pass(db, 61)
    out = [await begun(chat) for _ in range(4)]
    made = 4
    for _ in range(2):
        await out.pop(0).fail()
        out.append(await begun(chat))
        made += 1
        assert not await Call(chat).begin(), "one result makes room for one call"
    assert await out.pop(0).fail()
    assert (made, await state(db)) == (6, "open")


async def test_quiet_minute_when_a_call_never_tells_then_its_place_is_free_after_its_lease(
    db: Database, chat: Breaker
) -> None:
    await let_pass(db, 61)
    for _ in range(4):
        await begun(chat)
    assert not await Call(chat).begin()
    await let_pass(db, 15.1)
    assert await Call(chat).begin()


async def test_traffic_when_it_never_rests_then_the_minute_does_not_run_out(db: Database, chat: Breaker) -> None:
    for _ in range(8):
        await let_pass(db, 20)
        await (await begun(chat)).succeed()
    assert [await Call(chat).begin() for _ in range(10)] == [True] * 10


async def test_states_then_both_endpoints_by_the_words_of_the_api(db: Database, chat: Breaker) -> None:
    assert {row["endpoint"]: row["state"] for row in await breakers.states(db)} == dict.fromkeys(
        get_args(Endpoint), "closed"
    )
    await opened(db, chat)
    [row] = [row for row in await breakers.states(db) if row["endpoint"] == "chat"]
    assert (row["state"], row["reason"]) == ("open", WHY)
    assert row["retry_at"] is not None
