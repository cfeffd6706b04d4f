import random

import pytest

from simulator.host.queue_polling import PollWaits


class Dice(random.Random):
    """Always throws the same part of the range."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self._share = share

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self._share


def waits(count: int, longest_s: float, share: float = 0.5) -> list[float]:
    series = PollWaits(0.1, longest_s, Dice(share))
    return [round(series.next_s(), 6) for _ in range(count)]


def test_waits_with_even_dice_then_double_up_to_the_longest() -> None:
    assert waits(13, 60.0) == [0.1, 0.2, 0.3, 0.5, 0.9, 1.7, 3.3, 6.5, 12.9, 25.7, 51.3, 60.0, 60.0]


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, [0.1, 0.18, 0.26, 0.42, 0.74]), (1.0, [0.1, 0.22, 0.34, 0.58, 1.06])]
)
def test_waits_with_extreme_dice_then_ends_of_the_recorded_ranges(share: float, expected: list[float]) -> None:
    assert waits(5, 60.0, share) == expected


def test_waits_at_the_longest_then_stay_there_whatever_the_dice_say() -> None:
    dice = Dice(1.0)
    series = PollWaits(0.1, 0.5, dice)
    assert [round(series.next_s(), 6) for _ in range(4)] == [0.1, 0.22, 0.34, 0.5]
    dice._share = 0.0
    assert series.next_s() == 0.5


def test_waits_with_the_shortest_cap_then_never_longer() -> None:
    assert waits(4, 0.1) == [0.1, 0.1, 0.1, 0.1]


def test_waits_after_a_find_then_begin_again() -> None:
    series = PollWaits(0.1, 2.0, Dice(0.5))
    before = [series.next_s() for _ in range(8)]
    series.reset()
    assert [series.next_s() for _ in range(8)] == before
