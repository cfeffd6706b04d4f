"""Strangers: messages that come twice, late, early or out of nowhere, and texts that are no message at all."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from azure.core.exceptions import AzureError
from azure.storage.queue.aio import QueueServiceClient

from tests.chaos.ledger import Deed, Ledger, Stray, now
from tests.chaos.stage import QUEUES

UNKNOWN_JOB = 10**9
# Texts without an integer job_id; each gets a number, so that it can be told from the others.
RUBBISH: tuple[Callable[[int], str], ...] = (
    lambda number: f"rubbish {number}",
    lambda number: json.dumps({"ticket": number}),
    lambda number: json.dumps({"job_id": f"{number}", "delivery": 1}),
    lambda number: json.dumps([number]),
)


@dataclass
class Strangers:
    """They know which jobs there are, and guess the rest."""

    storage: QueueServiceClient
    ledger: Ledger
    rng: Random
    done: Counter[str] = field(default_factory=Counter)

    async def meddle(self, *, gap_s: float, for_s: float) -> None:
        """Put something on a work queue every `gap_s` seconds on average."""
        ends = time.monotonic() + for_s
        while time.monotonic() < ends:
            try:
                await self._meddle()
            except AzureError:
                self.done["in vain"] += 1
            await asyncio.sleep(self.rng.expovariate(1 / gap_s))

    async def _meddle(self) -> None:
        if self.rng.random() < 0.06:
            await self._put_rubbish()
            self.done["rubbish"] += 1
            return
        known = [answer.job_id for request in self.ledger.requests[-200:] for answer in request.answers]
        jobs = [job_id for job_id in known if job_id is not None] or [UNKNOWN_JOB]
        recent = jobs[-8:] if self.rng.random() < 0.6 else jobs
        job_id = self.rng.choice((*recent, UNKNOWN_JOB))
        delivery = self.rng.choice((1, 1, 1, 2, 2, 3, 4, 5, 7, 0, -1, 2**31))
        # On a dead letter's number it is an operator's retry, whoever sent it.
        self.ledger.deeds.append(Deed("put_back", job_id, now(), delivery=delivery))
        await self._put(json.dumps({"job_id": job_id, "delivery": delivery, "from": "a stranger"}))
        self.done["message"] += 1

    async def _put_rubbish(self) -> None:
        text = self.rng.choice(RUBBISH)(len(self.ledger.strays))
        put_at = now()
        stored = await self._put(text)
        self.ledger.strays.append(Stray(stored, put_at))

    async def _put(self, text: str) -> str:
        stored = base64.b64encode(text.encode()).decode()
        [queue] = self.rng.choices(QUEUES, (4, 1, 1))
        await self.storage.get_queue_client(queue).send_message(stored)
        return stored
