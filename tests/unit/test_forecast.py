"""What a caller is told about the wait."""

from __future__ import annotations

from typing import Any

import pytest

from shared import forecast
from shared.jobs.submit import Submission
from shared.provider.lane import Limits

QUOTA = Limits.per_minute(calls=60, burst=10, tokens=0)
NONE = Limits.per_minute(calls=0, burst=None, tokens=0)


def seen(**changes: Any) -> Submission:
    """What the database says: by default nothing waits, and the lane is full."""
    values: dict[str, Any] = {
        "job_id": 1,
        "ticket_id": 1,
        "asker_exists": True,
        "rate_wait_s": None,
        "queued_ahead": 0,
        "running_calls": 0,
        "finished_last_minute": 0,
        "queue_is_full": False,
        "lane_calls": 10.0,
        "lane_calls_per_s": 1.0,
        "blocked_s": 0.0,
    }
    return Submission(**values | changes)


@pytest.mark.parametrize(
    ("changes", "wait_s"),
    [
        ({}, 0),
        ({"queued_ahead": 5}, 0),
        ({"queued_ahead": 20}, 27.5),
        ({"queued_ahead": 20, "running_calls": 6}, 33.5),
        ({"queued_ahead": 20, "finished_last_minute": 1}, 27.5),
        ({"queued_ahead": 20, "lane_calls": 0.0, "lane_calls_per_s": 0.5}, 77.5),
        ({"blocked_s": 12.0}, 12),
        ({"queued_ahead": 20, "blocked_s": 12.0}, 27.5),
    ],
)
def test_wait_when_there_is_a_quota_then_the_calls_ahead_beyond_the_level_over_the_rate(
    changes: dict[str, Any], wait_s: float
) -> None:
    assert forecast.wait_s(seen(**changes), chat_calls=2, limits=QUOTA) == wait_s


@pytest.mark.parametrize(
    ("changes", "wait_s"),
    [
        ({}, 0),
        ({"queued_ahead": 7}, None),
        ({"queued_ahead": 7, "finished_last_minute": 14}, 30),
        ({"blocked_s": 5.0}, 5),
        ({"queued_ahead": 7, "finished_last_minute": 14, "blocked_s": 50.0}, 50),
    ],
)
def test_wait_when_there_is_no_quota_then_by_the_pace_of_the_last_minute(
    changes: dict[str, Any], wait_s: float | None
) -> None:
    assert forecast.wait_s(seen(**changes), chat_calls=2, limits=NONE) == wait_s


def test_wait_when_only_tokens_are_limited_then_that_is_a_quota() -> None:
    tokens = Limits.per_minute(calls=0, burst=None, tokens=60_000)
    assert not tokens.are_none
    assert forecast.wait_s(seen(queued_ahead=20, lane_calls=0.0), chat_calls=2, limits=tokens) == 37.5


@pytest.mark.parametrize(
    ("changes", "limits", "room_s"),
    [
        ({"finished_last_minute": 30}, NONE, 2),
        ({"finished_last_minute": 600}, NONE, 1),
        ({}, NONE, 300),
        ({}, QUOTA, 2),
        ({"finished_last_minute": 6}, QUOTA, 10),
        ({"finished_last_minute": 6, "blocked_s": 20.0}, QUOTA, 30),
        ({"blocked_s": 3600.0}, QUOTA, 300),
    ],
)
def test_room_in_a_full_queue_then_by_the_real_pace_in_whole_seconds(
    changes: dict[str, Any], limits: Limits, room_s: int
) -> None:
    assert forecast.room_in_s(seen(**changes), chat_calls=2, limits=limits) == room_s
