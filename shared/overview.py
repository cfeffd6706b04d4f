"""How things are: the queue's numbers, the provider's state, readiness."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass

from shared.api.numbers import BreakerState, ProviderState, Queue, Ready
from shared.db import Database
from shared.errors import DatabaseUnavailable
from shared.jobs import reading
from shared.provider import breaker
from shared.provider.lane import UNLIMITED, Lane
from shared.queues import outbox
from shared.queues.outbox import Pending
from shared.queues.storage import Queues


@dataclass(frozen=True)
class Overview:
    """What looking around needs; `ticket_queue` is the name of the queue that tickets wait on."""

    db: Database
    queues: Queues
    lane: Lane
    share_limits: Mapping[str, int]
    ticket_queue: str

    async def queue(self, pending: Mapping[str, Pending] | None = None) -> Queue:
        """The queue's numbers, in a handful of statements that read only what is alive; `pending` if known already."""
        numbers = await reading.numbers(self.db)
        parts = (await self.pending() if pending is None else pending).values()
        waiting = {
            "outbox_pending": sum(part.letters for part in parts),
            "outbox_oldest_seconds": max(part.oldest_s for part in parts),
        }
        return Queue.model_validate(numbers | waiting | {"provider": await self.provider()})

    async def pending(self) -> dict[str, Pending]:
        """What could be on each queue by now and is not."""
        return {
            queue: await outbox.pending(self.db, queue, self.lane, share_limit=limit)
            for queue, limit in self.share_limits.items()
        }

    async def provider(self) -> ProviderState:
        """The chat quota and the breakers, and in words why no call is made just now."""
        level, breakers = await self.lane.level(), await breaker.states(self.db)
        has_quota = self.lane.limits.calls_per_s < UNLIMITED
        reasons = list(dict.fromkeys(row["reason"] for row in breakers if row["reason"]))  # often one for both
        if level.paused_until is not None:
            reasons.append("The provider refused a call over its quota.")
        return ProviderState(
            chat_rpm=round(60 * self.lane.limits.calls_per_s) if has_quota else None,
            calls_available=max(0, math.floor(level.calls)) if has_quota else None,
            paused_until=level.paused_until,
            reason=" ".join(reasons) or None,
            breakers={row["endpoint"]: BreakerState(state=row["state"], retry_at=row["retry_at"]) for row in breakers},
        )

    async def ready(self) -> Ready:
        """Ready means that tickets can be accepted: Postgres answers. The rest is shown."""
        provider, queue = await asyncio.gather(self._provider_in_words(), self.queues.answers(self.ticket_queue))
        return Ready(
            ready=provider is not None,
            checks={
                "database": "ok" if provider is not None else "unreachable",
                "queue": "ok" if queue else "unreachable",
                "provider": provider or "unknown",
            },
        )

    async def _provider_in_words(self) -> str | None:
        """What the shared rows say of the provider; None without a database."""
        try:
            return (await self.provider()).reason or "ok"
        except DatabaseUnavailable:
            return None
