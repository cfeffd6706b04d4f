"""How much of the provider's chat quota was used while there was work waiting for it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

LOOK_EVERY_S = 0.25
_CHAT_TASKS = ("classify", "draft_reply")
_WINDOW_S = 60.0


@dataclass(frozen=True)
class Sample:
    """A look at the provider's counters: chat calls so far, and how many jobs wait."""

    at: float
    accepted: int
    refused: int
    backlog: int


@dataclass(frozen=True)
class Allowance:
    """What the provider lets through: `burst` at once and `per_minute`, or `per_minute` in each window of 60 s."""

    per_minute: int
    burst: int
    is_windowed: bool

    def calls_within(self, seconds: float) -> float:
        """How many calls can be let through in so many seconds from the first one on."""
        if self.is_windowed:
            return self.per_minute * (seconds // _WINDOW_S)
        return self.burst + self.per_minute * seconds / 60

    def share_used(self, samples: Sequence[Sample]) -> float:
        """Accepted calls over possible ones, from the first call to the last sample with a backlog.

        Of windows only whole ones count: how much of the last one could have been used is anybody's guess.
        """
        first_at = next(sample.at for sample in samples if sample.accepted)
        last = max(sample.at for sample in samples if sample.backlog)
        if self.is_windowed:
            last = first_at + (last - first_at) // _WINDOW_S * _WINDOW_S
        counted = max(sample.accepted for sample in samples if sample.at <= last)
        possible = self.calls_within(last - first_at)
        return counted / possible if possible else 0.0


async def watch(
    provider_url: str, count_backlog: Callable[[], Awaitable[int]], until_done: Awaitable[None]
) -> list[Sample]:
    """Look again and again until `until_done` is, which is run meanwhile."""
    samples = []
    async with httpx.AsyncClient(base_url=provider_url) as provider:
        work = asyncio.ensure_future(until_done)
        while not work.done():
            await asyncio.wait({work}, timeout=LOOK_EVERY_S)
            counters = (await provider.get("/simulator/counters")).raise_for_status().json()
            samples.append(_sample(counters, await count_backlog()))
        await work
    return samples


def _sample(counters: dict[str, Any], backlog: int) -> Sample:
    chat = [outcomes for task, outcomes in counters["calls"].items() if task in _CHAT_TASKS]
    accepted = sum(outcomes.get("200", 0) for outcomes in chat)
    refused = sum(outcomes.get("429", 0) for outcomes in chat)
    return Sample(time.monotonic(), accepted, refused, backlog)
