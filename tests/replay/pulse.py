"""How long the event loop stood still, and when: on a busy machine that is no fault of the listener's."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

BEAT_S = 0.05


@dataclass
class Pulse:
    """Beats that came late, as of time.time(), with the seconds they were late by."""

    late_beats: list[tuple[float, float]] = field(default_factory=list)

    def stood_still_s(self, from_at: float, to_at: float) -> float:
        """Return how many seconds the loop lost between two moments."""
        return sum(late_s for at, late_s in self.late_beats if from_at <= at and at - late_s <= to_at)

    async def beat(self) -> None:
        while True:
            due_at = time.time() + BEAT_S
            await asyncio.sleep(BEAT_S)
            late_s = time.time() - due_at
            if late_s > BEAT_S:
                self.late_beats.append((time.time(), late_s))


@asynccontextmanager
async def beating_pulse() -> AsyncIterator[Pulse]:
    """Watch the running loop for as long as the context is open."""
    pulse = Pulse()
    beating = asyncio.create_task(pulse.beat())
    try:
        yield pulse
    finally:
        beating.cancel()
