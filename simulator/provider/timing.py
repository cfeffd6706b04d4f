"""How long calls take: log-normal around recorded medians, longer while many are in flight."""

import math
from dataclasses import dataclass
from random import Random
from typing import Final

from simulator.provider.tasks import Task

# With 40 calls in flight the recorded ones took about 30 % longer.
_LOAD_STRETCH: Final = 0.3
_LOAD_CALLS: Final = 40


@dataclass(frozen=True, slots=True)
class Spread:
    """A log-normal time: `median_s` seconds, `sigma` of its logarithm."""

    median_s: float
    sigma: float

    def draw(self, rng: Random) -> float:
        """One time in seconds."""
        return self.median_s * math.exp(self.sigma * rng.gauss(0, 1))


# classify, draft_reply and embed are recorded; the others are assumed, by the length of their answers.
SPREADS: Final[dict[Task, Spread]] = {
    "classify": Spread(0.9, 0.3),
    "draft_reply": Spread(1.1, 0.2),
    "embed": Spread(0.18, 0.3),
    "chat": Spread(1.1, 0.2),
    "summarise": Spread(1.6, 0.2),
    "merge": Spread(1.6, 0.2),
}


def draw_duration(task: Task, in_flight: int, rng: Random) -> float:
    """Seconds one call of `task` takes while `in_flight` calls, itself among them, are being answered."""
    others = min(in_flight, _LOAD_CALLS) - 1
    load = 1 + _LOAD_STRETCH * others / (_LOAD_CALLS - 1)
    return SPREADS[task].draw(rng) * load


def draw_refusal(rng: Random) -> float:
    """Seconds until a refusal arrives (recorded: 0.4–0.7 s)."""
    return rng.uniform(0.4, 0.7)
