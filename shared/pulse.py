"""The pulse: the queue's numbers as metrics, once in a pass of the sweep, on an idle queue too.

Alerts read ages from it, and its absence: a queue hides a stopped worker, and a stopped timer hides everything.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial

from shared.api.numbers import Queue
from shared.kinds import webhook
from shared.overview import Overview
from shared.signals import Gauges
from shared.telemetry import Telemetry

SEND_S = 2.0
EVERY_S = 50.0  # passes are kicked every few seconds; the timer's, once a minute in Azure, are enough


def of(overview: Overview, telemetry: Telemetry, kinds: Iterable[str]) -> Callable[[], Awaitable[None]] | None:
    """What measures and sends; None when nobody listens. Deliveries of webhooks count nowhere as jobs."""
    if telemetry.gauges is None:
        return None
    jobs = [kind for kind in kinds if kind != webhook.KIND.name]
    return Pulse(overview, telemetry.gauges, jobs, partial(telemetry.send, within_s=SEND_S)).feel


@dataclass
class Pulse:
    """What measuring needs; each of `kinds` has its values, whether there are such jobs or not."""

    overview: Overview
    gauges: Gauges
    kinds: Collection[str]
    send: Callable[[], Awaitable[None]]
    felt_at: float = field(init=False, default=float("-inf"))

    async def feel(self) -> None:
        """Measure and send, unless this process has just done it. Raises DatabaseUnavailable."""
        if time.monotonic() - self.felt_at < EVERY_S:
            return
        self.felt_at = time.monotonic()
        pending = await self.overview.pending()
        for queue, part in pending.items():
            self.gauges.set("outbox_oldest_seconds", part.oldest_s, queue=queue)
        self._note(await self.overview.queue(pending))
        await self.send()  # an instance that scales in does not wait for the next minute

    def _note(self, queue: Queue) -> None:
        for kind in self.kinds:
            numbers = queue.kinds.get(kind)
            self.gauges.set("queued", numbers.queued if numbers else 0, kind=kind)
            self.gauges.set("running", numbers.running if numbers else 0, kind=kind)
            self.gauges.set("oldest_queued_seconds", numbers.oldest_queued_seconds if numbers else 0, kind=kind)
        self.gauges.set("dead_letters", queue.dead_letter)
        if queue.provider.calls_available is not None:
            self.gauges.set("lane_calls_available", queue.provider.calls_available)
        self.gauges.set("lane_paused", queue.provider.paused_until is not None)
        for endpoint, breaker in queue.provider.breakers.items():
            self.gauges.set("breaker_open", breaker.state != "closed", endpoint=endpoint)
