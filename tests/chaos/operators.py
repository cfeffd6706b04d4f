"""Operators: people who retry, discard and cancel, and who move and delete poison messages by hand."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import httpx
from azure.core.exceptions import AzureError
from azure.storage.queue.aio import QueueServiceClient

from tests.chaos.customers import content_of, is_unexpected
from tests.chaos.ledger import Deed, DeedKind, Ledger, Stray, now
from tests.chaos.snapshot import Message
from tests.chaos.stage import QUEUES

KNOWN_ANSWERS = (200, 202, 404, 409)
HELD_S = 10

# What operators do, and how often, in parts.
HABITS = {
    "retry": 5,
    "retry_many": 1,
    "discard": 3,
    "cancel": 3,
    "decide": 4,
    "put_back": 4,
    "delete": 2,
    "leave_note": 1,
}


def open_storage(connection_string: str) -> QueueServiceClient:
    """A client that gives up soon: storage is away often."""
    return QueueServiceClient.from_connection_string(
        connection_string, retry_total=1, connection_timeout=3, read_timeout=3
    )


@dataclass
class Operators:
    """All operators; what they decide goes into the ledger before it can take effect."""

    clients: tuple[httpx.AsyncClient, ...]
    storage: QueueServiceClient
    ledger: Ledger
    rng: Random
    done: Counter[str] = field(default_factory=Counter)

    async def work(self, *, gap_s: float, for_s: float) -> None:
        """Do something every `gap_s` seconds on average."""
        ends = time.monotonic() + for_s
        while time.monotonic() < ends:
            [habit] = self.rng.choices(list(HABITS), list(HABITS.values()))
            try:
                await self._do(habit)
                self.done[habit] += 1
            except (httpx.HTTPError, AzureError):
                self.done["in vain"] += 1
            await asyncio.sleep(self.rng.expovariate(1 / gap_s))

    async def _do(self, habit: str) -> None:
        match habit:
            case "retry":
                await self._decide("retry", await self._pick(self.rng.choice(("dead_letter", "dead_letter", "failed"))))
            case "discard":
                body = {"discarded_by": "chaos"}
                await self._decide("discard", await self._pick("dead_letter"), body)
            case "cancel":
                await self._decide("cancel", await self._pick(self.rng.choice(("queued", "running"))))
            case "decide":
                kind: DeedKind = "approve" if self.rng.random() < 0.8 else "reject"
                await self._decide(kind, await self._pick("waiting_for_approval"), {"decided_by": "chaos"})
            case "retry_many":
                await self._ask(Deed("retry_many", None, now()), "/v1/dead-letters/retry", {"limit": 5})
            case "put_back":
                await self._put_back()
            case "delete":
                await self._delete_poison()
            case "leave_note":
                await self._leave_note()

    async def _pick(self, state: str) -> int | None:
        """A job in that state; the list may be out of date when the decision arrives."""
        response = await self._client().get("/v1/jobs", params={"state": state, "limit": 50})
        jobs = content_of(response).get("items") or []
        return self.rng.choice(jobs)["job_id"] if jobs else None

    async def _decide(self, kind: DeedKind, job_id: int | None, body: dict[str, Any] | None = None) -> None:
        if job_id is not None:
            await self._ask(Deed(kind, job_id, now()), f"/v1/jobs/{job_id}/{kind}", body)

    async def _ask(self, deed: Deed, path: str, body: dict[str, Any] | None) -> None:
        place = len(self.ledger.deeds)
        self.ledger.deeds.append(deed)
        response = await self._client().post(path, json=body) if body else await self._client().post(path)
        self.ledger.deeds[place] = replace(deed, ended_at=now(), status=response.status_code)
        if is_unexpected(response, known=KNOWN_ANSWERS):
            self.ledger.complaints.append(f"POST {path}: {response.status_code} {response.text[:200]}")

    async def _put_back(self) -> None:
        """Move, or only copy, a poison message to the work queue, in each way that Storage Explorer writes it."""
        queue = self.rng.choice(QUEUES)
        for found, text in await self._take_poison(queue):
            message = Message(f"{queue}-poison", text)
            content = message.content or {}
            if message.job_id is None or not isinstance(content.get("delivery"), int):
                continue
            deed = Deed("put_back", message.job_id, now(), delivery=content["delivery"])
            self.ledger.deeds.append(deed)
            again = base64.b64encode(text.encode()).decode()
            plain = json.dumps(content)
            await self.storage.get_queue_client(queue).send_message(self.rng.choice((text, again, plain)))
            if self.rng.random() < 0.7:
                await self.storage.get_queue_client(message.queue).delete_message(found)

    async def _delete_poison(self) -> None:
        queue = self.rng.choice(QUEUES)
        for found, text in await self._take_poison(queue):
            message = Message(f"{queue}-poison", text)
            if message.job_id is not None:
                await self.storage.get_queue_client(message.queue).delete_message(found)

    async def _leave_note(self) -> None:
        text = f"ask Bob about this, {self.rng.random()}"
        put_at = now()
        await self.storage.get_queue_client(f"{self.rng.choice(QUEUES)}-poison").send_message(text)
        self.ledger.strays.append(Stray(text, put_at))

    async def _take_poison(self, queue: str) -> list[tuple[Any, str]]:
        """One message of the queue's poison queue, hidden for a while as a person's tool would, or none."""
        poison = self.storage.get_queue_client(f"{queue}-poison")
        return [
            (message, str(message.content))
            async for message in poison.receive_messages(max_messages=1, visibility_timeout=HELD_S)
        ]

    def _client(self) -> httpx.AsyncClient:
        return self.rng.choice(self.clients)
