"""The breakers' rows: when they open, what a trial may do, and whose results count."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import get_args

import pytest

from shared.db import Database
from shared.provider import breaker as breakers
from shared.provider.breaker import Breaker
from shared.provider.client import Endpoint
from tests.db.breaker_calls import WHY, Call, begun, fail_once, let_pass, opened, row_of, state


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
