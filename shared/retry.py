"""How long to wait before the next try. Pure: no clock, no I/O."""

from __future__ import annotations

import random


def backoff_s(attempt: int, *, base_s: float, cap_s: float, draw: float | None = None) -> float:
    """Exponential back-off with full jitter: evenly between 0 and min(cap, base × 2^(attempt − 1)) seconds.

    `attempt` counts from 1; `draw` in 0..1 replaces the dice in tests.
    Full jitter as in "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    """
    ceiling = min(cap_s, base_s * 2.0 ** min(attempt - 1, 60))
    return ceiling * (random.random() if draw is None else draw)  # noqa: S311 - no secret depends on it
