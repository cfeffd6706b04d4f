"""When the event loop stood still and when the queue service was slow: no fault of the listener's."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

BEAT_S = 0.05
STANDSTILL_S = 0.5
SLOW_ANSWER_S = 0.2


@dataclass
class Pulse:
    """Beats that came late and answers of the service that did; moments are as of time.time()."""

    late_beats: list[tuple[float, float]] = field(default_factory=list)
    late_answers: list[float] = field(default_factory=list)

    def stood_still_s(self, from_at: float, to_at: float) -> float:
        """Return how many seconds the loop lost between two moments."""
        return sum(late_s for at, late_s in self.late_beats if from_at <= at and at - late_s <= to_at)

    def was_disturbed(self, from_at: float, to_at: float) -> bool:
        """Say whether the machine kept the loop or the service waiting so long that a replay may show anything."""
        is_service_slow = any(from_at <= at <= to_at for at in self.late_answers)
        return is_service_slow or self.stood_still_s(from_at, to_at) > STANDSTILL_S

    def heed_answer(self, asked_at: float) -> None:
        """Take note of an answer that has just come from the service."""
        now = time.time()
        if now - asked_at > SLOW_ANSWER_S:
            self.late_answers.append(now)

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
