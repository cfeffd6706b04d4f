"""Back-off: exponential, capped, full jitter."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from shared.retry import backoff_s

ATTEMPTS = st.integers(1, 10_000)
SECONDS = st.floats(0.001, 86_400)


def test_backoff_when_the_dice_say_one_then_it_doubles_up_to_the_cap() -> None:
    waits = [backoff_s(attempt, base_s=2, cap_s=60, draw=1.0) for attempt in range(1, 8)]
    assert waits == [2, 4, 8, 16, 32, 60, 60]


@given(ATTEMPTS, SECONDS, SECONDS, st.floats(0, 1))
def test_backoff_when_drawn_then_between_nothing_and_the_cap(
    attempt: int, base_s: float, cap_s: float, draw: float
) -> None:
    wait_s = backoff_s(attempt, base_s=base_s, cap_s=cap_s, draw=draw)
    assert 0 <= wait_s <= cap_s
    assert wait_s <= backoff_s(attempt + 1, base_s=base_s, cap_s=cap_s, draw=draw)


def test_backoff_when_not_drawn_then_spread_over_the_whole_range() -> None:
    random.seed(1)
    waits = sorted(backoff_s(1, base_s=2, cap_s=60) for _ in range(400))
    assert waits[0] < 0.1
    assert waits[-1] > 1.9
    assert 0.8 < sum(waits) / len(waits) < 1.2
