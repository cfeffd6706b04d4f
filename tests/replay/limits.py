"""The tolerance for times, and the two waits that the rules are made of."""

from collections.abc import Callable
from dataclasses import dataclass

from simulator.host.queue_settings import QueueTimes

# What may come on top of a wait, between two moments of a course of events; both in seconds after its start.
Slack = Callable[[float, float], float]

# The paper allows 0.15 s; its program took up to 0.4 s over its first batch.
RECORDED_SLACK_S = 0.4

# The replay's: proxy, listener and function share one loop with dozens of others, on two cores. Seconds that the
# loop as a whole stood still (see pulse.py) come on top. Waits that are wrong are wrong by more.
REPLAY_SLACK_S = 0.3

EARLY_S = 0.015  # times in the recording are rounded to 10 ms


@dataclass(frozen=True)
class Span:
    """How long something may take, in seconds."""

    low_s: float
    high_s: float

    def holds(self, from_s: float, to_s: float, slack: Slack) -> bool:
        took_s = to_s - from_s
        return self.low_s - EARLY_S <= took_s <= self.high_s + slack(from_s, to_s)

    def __str__(self) -> str:
        return f"{self.low_s:.2f} to {self.high_s:.2f} s"


def poll_wait(times: QueueTimes, empty_polls: int, longest_s: float) -> Span:
    """Return the wait after the n-th empty poll in a row (R3)."""
    if empty_polls == 1:
        return Span(min(times.first_poll_s, longest_s), min(times.first_poll_s, longest_s))
    steps = times.first_poll_s * 2 ** (empty_polls - 2)
    low_s, high_s = times.first_poll_s + 0.8 * steps, times.first_poll_s + 1.2 * steps
    return Span(min(low_s, longest_s), min(high_s, longest_s))


def retry_wait(times: QueueTimes, failed_tries: int) -> Span:
    """Return the gap before the next try of the same request (R51)."""
    steps = times.first_retry_s * 2 ** (failed_tries - 1)
    return Span(0.8 * steps, 1.2 * steps)


def all_tries(times: QueueTimes) -> Span:
    """Return how long a request takes that cannot be made at all (R57)."""
    gaps = [retry_wait(times, failed) for failed in range(1, times.tries)]
    return Span(sum(gap.low_s for gap in gaps), sum(gap.high_s for gap in gaps))
