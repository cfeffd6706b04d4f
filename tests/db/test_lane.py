"""The lane's row: what it grants under many hands, how refusals and the provider's own numbers correct it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from shared.db import Database
from shared.provider.hints import Remaining
from shared.provider.lane import UNLIMITED, Lane, Limits
from tests.db.arrows import reach
from tests.stage import transaction, until

TEN_A_SECOND = Limits.per_minute(calls=600, burst=20, tokens=0)
ONE_A_MINUTE = Limits.per_minute(calls=1, burst=5, tokens=0)
UNKNOWN = Remaining(None, None)


def lane_of(db: Database, limits: Limits, *, pause_max_s: float = 3600) -> Lane:
    return Lane(db, limits, pause_max_s)


async def taken(lane: Lane, *, cost: int = 1, times: int = 100) -> int:
    """How many permits are granted in a row before one is not."""
    for count in range(times):
        if not (await lane.take(cost)).is_granted:
            return count
    return times


async def refuse(lane: Lane, hint_s: float | None = None, *, base_s: float = 2, cap_s: float = 60) -> float:
    return await lane.pause(hint_s, base_s=base_s, cap_s=cap_s)


async def let_pass(db: Database, seconds: float) -> None:
    """Make everything that the lane remembers so many seconds older."""
    await db.execute(
        "UPDATE provider_lane SET at = at - %(s)s * interval '1 second',"
        " paused_until = paused_until - %(s)s * interval '1 second'",
        {"s": seconds},
    )


async def test_permits_when_eight_workers_ask_without_a_pause_then_burst_and_refill_and_not_one_more(
    db: Database,
) -> None:
    lane = lane_of(db, TEN_A_SECOND)
    began = time.monotonic()

    async def ask() -> int:
        granted = 0
        while time.monotonic() < began + 2:
            permit = await lane.take(1)
            granted += permit.is_granted
        return granted

    granted = sum(await asyncio.gather(*(ask() for _ in range(8))))

    possible = 20 + 10 * (time.monotonic() - began)
    assert 0.95 * possible - 1 <= granted <= possible


async def test_permits_when_all_waited_for_the_row_then_no_refill_is_granted_twice(
    db: Database, database_url: str
) -> None:
    lane = lane_of(db, TEN_A_SECOND)
    await db.execute("UPDATE provider_lane SET calls = 1, at = clock_timestamp()")
    began = time.monotonic()
    async with transaction(database_url) as other:
        await other.execute("UPDATE provider_lane SET name = name")
        asked = [asyncio.create_task(lane.take(1)) for _ in range(9)]

        async def all_wait() -> bool:
            row = await db.fetch_dict(
                "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%permit%'"
            )
            return row == {"n": 9} and time.monotonic() > began + 0.5

        await until(all_wait, "nine workers wait for the row")
    granted = [(await permit).is_granted for permit in asked].count(True)
    assert 5 <= granted <= 1 + 10 * (time.monotonic() - began)


async def test_permit_when_refused_then_the_time_it_tells_is_enough(db: Database) -> None:
    lane = lane_of(db, TEN_A_SECOND)
    await taken(lane)
    permit = await lane.take(1)
    assert 0 < permit.wait_s <= 0.1
    await let_pass(db, permit.wait_s)
    assert (await lane.take(1)).is_granted


async def test_lane_when_nothing_is_limited_then_everybody_may_call(db: Database) -> None:
    lane = lane_of(db, Limits.per_minute(calls=0, burst=None, tokens=0))
    assert lane.limits.are_none
    assert await taken(lane, cost=100_000) == 100


async def test_refusal_then_the_level_is_zero_and_the_longest_pause_counts(db: Database) -> None:
    lane = lane_of(db, Limits.per_minute(calls=60, burst=20, tokens=0))
    assert 0.9 < await refuse(lane, 1.0) <= 1.0
    assert 7.9 < await refuse(lane, 8.0) <= 8.0
    assert 7.8 < await refuse(lane, 0.2) <= 8.0
    permit, level = await lane.take(1), await lane.level()
    assert (permit.is_granted, level.calls) == (False, 0)
    assert 7.5 < permit.wait_s <= 8.0
    assert level.paused_until is not None

    await let_pass(db, 7.0)
    assert not (await lane.take(1)).is_granted
    await let_pass(db, 1.0)
    assert await taken(lane) == 8, "what came back during the pause, and not the burst of before"


async def test_refusal_when_the_hint_is_a_day_then_cut(db: Database) -> None:
    lane = lane_of(db, TEN_A_SECOND, pause_max_s=10)
    assert 9.9 < await refuse(lane, 86_400) <= 10
    assert 9.8 < await refuse(lane, base_s=1e6, cap_s=1e6) <= 10


async def longest_pause(db: Database, lane: Lane, hint_s: float | None, *, before: int) -> float:
    """The longest of forty pauses that follow `before` refusals in a row."""
    waits = []
    for _ in range(40):
        await db.execute("UPDATE provider_lane SET refusals = %(n)s, paused_until = NULL", {"n": before})
        waits.append(await refuse(lane, hint_s))
    return max(waits)


async def test_refusals_when_without_a_hint_then_the_pause_grows_up_to_a_cap(db: Database) -> None:
    lane = lane_of(db, TEN_A_SECOND)
    longest = [await longest_pause(db, lane, None, before=count) for count in (0, 2, 8)]
    assert 1 < longest[0] <= 2
    assert 4 < longest[1] <= 8
    assert 30 < longest[2] <= 60


async def test_refusals_when_the_hint_is_now_again_and_again_then_not_believed(db: Database) -> None:
    lane = lane_of(db, TEN_A_SECOND)
    assert await refuse(lane, 0.0) == 0
    assert await longest_pause(db, lane, 0.0, before=3) > 4
    assert await longest_pause(db, lane, 0.3, before=3) <= 0.3, "a hint that says something is obeyed"


async def test_refusals_when_of_one_burst_then_counted_once_and_an_answer_ends_the_row(db: Database) -> None:
    lane = lane_of(db, TEN_A_SECOND)
    for _ in range(8):
        await refuse(lane, 30)
    assert await db.fetch_dict("SELECT refusals FROM provider_lane") == {"refusals": 1}
    await lane.settle(1, 1, UNKNOWN, took_s=0)
    assert await db.fetch_dict("SELECT refusals FROM provider_lane") == {"refusals": 0}


async def test_tokens_when_used_up_then_no_call_until_they_are_back(db: Database) -> None:
    lane = lane_of(db, Limits.per_minute(calls=0, burst=None, tokens=60_000))
    assert await taken(lane, cost=20_000) == 3
    permit = await lane.take(20_000)
    assert 19 < permit.wait_s <= 20
    assert (await lane.level()).calls < 1
    await let_pass(db, permit.wait_s)
    assert (await lane.take(20_000)).is_granted


async def test_tokens_when_an_answer_took_fewer_then_the_rest_is_given_back(db: Database) -> None:
    lane = lane_of(db, Limits.per_minute(calls=0, burst=None, tokens=6_000))
    await lane.take(5_000)
    assert not (await lane.take(5_000)).is_granted
    await lane.settle(5_000, 200, UNKNOWN, took_s=0)
    assert (await lane.take(5_000)).is_granted
    await lane.settle(5_000, 12_000, UNKNOWN, took_s=0)
    assert (await lane.take(1)).wait_s > 60, "what an answer took beyond its estimate has to come back first"


async def test_call_when_larger_than_the_token_bucket_then_let_through_when_it_is_full(db: Database) -> None:
    lane = lane_of(db, Limits.per_minute(calls=0, burst=None, tokens=600))
    assert (await lane.take(5_000)).is_granted
    assert not (await lane.take(5_000)).is_granted


async def test_call_when_not_made_then_its_permit_is_back(db: Database) -> None:
    lane = lane_of(db, Limits.per_minute(calls=1, burst=1, tokens=1_000))
    await lane.take(900)
    await lane.give_back(900)
    assert (await lane.take(900)).is_granted


@pytest.mark.parametrize(("left", "most"), [(0, 1), (-1, 0), (3, 4), (500, 5)])
async def test_answer_when_it_tells_what_is_left_then_the_level_is_corrected_downwards_only(
    db: Database, left: int, most: int
) -> None:
    lane = lane_of(db, replace(ONE_A_MINUTE, burst=6))
    await lane.take(1)
    await lane.settle(1, 1, Remaining(left, None), took_s=0)
    assert await taken(lane) == most


async def test_answer_when_it_took_long_then_what_came_back_meanwhile_is_allowed_for(db: Database) -> None:
    lane = lane_of(db, replace(TEN_A_SECOND, burst=100))
    await lane.settle(1, 1, Remaining(2, None), took_s=3)
    assert 33 <= await taken(lane) <= 36


async def test_answer_when_it_tells_the_tokens_left_then_corrected_too(db: Database) -> None:
    lane = lane_of(db, Limits.per_minute(calls=0, burst=None, tokens=60_000))
    await lane.take(1_000)
    await lane.settle(1_000, 1_000, Remaining(None, 500), took_s=0)
    assert 1 <= (await lane.level()).calls < 2.5


async def test_level_when_both_are_limited_then_the_scarcer_one_tells(db: Database) -> None:
    lane = lane_of(db, Limits.per_minute(calls=60, burst=50, tokens=60_000))
    await lane.take(6_000)
    level = await lane.level()
    assert 8.9 < level.calls < 9.2
    assert level.calls_per_s == pytest.approx(1 / 6)
    free = await lane_of(db, replace(lane.limits, token_burst=UNLIMITED, tokens_per_s=UNLIMITED)).level()
    assert free.calls_per_s == 1


async def a_ticket_waits(db: Database, endpoint: str) -> None:
    await reach(db, "queued")
    await db.execute("UPDATE outbox SET endpoint = %(endpoint)s", {"endpoint": endpoint})


async def is_granted(lane: Lane, *, yields: bool = False) -> bool:
    return (await lane.take(1, yields=yields)).is_granted


async def test_permits_when_a_ticket_waits_for_the_lane_then_a_report_gets_one_in_four(db: Database) -> None:
    lane = lane_of(db, replace(ONE_A_MINUTE, burst=12))
    await a_ticket_waits(db, "chat")
    await db.execute("UPDATE provider_lane SET calls = 3.5, at = clock_timestamp()")
    assert not await is_granted(lane, yields=True)
    assert [await is_granted(lane) for _ in range(3)] == [True] * 3
    await db.execute("UPDATE provider_lane SET calls = 3.5, at = clock_timestamp()")
    assert [await is_granted(lane, yields=True) for _ in range(2)] == [True, False]


@pytest.mark.parametrize("endpoint", ["chat", "embeddings"])
async def test_permits_when_no_ticket_takes_them_then_a_report_is_not_held_up_for_ever(
    db: Database, endpoint: str
) -> None:
    lane = lane_of(db, replace(ONE_A_MINUTE, burst=12))
    await a_ticket_waits(db, endpoint)
    await db.execute("UPDATE provider_lane SET calls = 12, at = clock_timestamp()")
    granted = [await is_granted(lane, yields=True) for _ in range(12)]
    assert granted.count(True) == (9 if endpoint == "chat" else 12), "down to what tickets may want"
    await let_pass(db, 60)
    assert await is_granted(lane, yields=True)
