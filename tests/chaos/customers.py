"""Customers: an open arrival of tickets, many with an Idempotency-Key, who ask again when no answer comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from simulator.shop import make_customers
from simulator.stories import write_story
from tests.chaos.ledger import Answer, Ledger, Request, Sighting
from tests.chaos.snapshot import FINISHED

WITH_KEY = 0.7
SENT_TWICE_AT_ONCE = 0.1  # of those with a key: to both hosts
READERS = 0.25  # customers who look until their ticket is done
TRIES = 12
PATIENCE_S = 12.0


def open_clients(urls: Sequence[str]) -> tuple[httpx.AsyncClient, ...]:
    """A client for each host, which opens as many connections as there are requests."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    return tuple(httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, limits=limits) for url in urls)


@dataclass
class Customers:
    """All customers; `clients` are the ways in, one a host. Everything they hear goes into the ledger."""

    clients: tuple[httpx.AsyncClient, ...]
    ledger: Ledger
    rng: Random
    _customers: list[str] = field(default_factory=lambda: [customer.customer_id for customer in make_customers()])
    _bodies: dict[str, dict[str, str]] = field(default_factory=dict)

    async def come(self, *, per_second: float, for_s: float) -> None:
        """New tickets at random moments whatever the answers do; returns when everybody has given up or is served."""
        ends = time.monotonic() + for_s
        async with asyncio.TaskGroup() as group:
            while time.monotonic() < ends:
                group.create_task(self._visit(ends))
                await asyncio.sleep(self.rng.expovariate(per_second))

    async def ask_again(self, *, at_most: int) -> None:
        """Some who got an answer under their key ask once more: they have to hear the same."""
        answered = [request for request in self.ledger.requests if request.key and request.was_accepted]
        for request in self.rng.sample(answered, min(at_most, len(answered))):
            await self._send(request, self._bodies[request.token])

    async def _visit(self, ends: float) -> None:
        request, body = self._new_request()
        self.ledger.requests.append(request)
        if request.key and self.rng.random() < SENT_TWICE_AT_ONCE:
            await asyncio.gather(*(self._send(request, body, client) for client in self.clients))
        else:
            await self._send(request, body)
        for _ in range(TRIES if request.key else 0):
            if request.was_accepted or time.monotonic() > ends:
                break
            await asyncio.sleep(self.rng.uniform(0.2, 3))
            await self._send(request, body)
        job_id = next((answer.job_id for answer in request.answers if answer.job_id), None)
        if job_id is not None and self.rng.random() < READERS:
            await self._look(job_id, ends)

    def _new_request(self) -> tuple[Request, dict[str, str]]:
        number = len(self.ledger.requests) + 1
        token = f"[q{number}]"
        customer = self.rng.choice(self._customers)
        key = f"chaos-key-{number}" if self.rng.random() < WITH_KEY else None
        story = write_story(self.rng)
        body = {
            "customer_id": customer,
            "subject": f"{story.subject[:80]} {token}",
            "body": story.body,
            "channel": story.channel,
        }
        self._bodies[token] = body
        return Request(token, customer, key), body

    async def _send(self, request: Request, body: dict[str, str], client: httpx.AsyncClient | None = None) -> None:
        client = client or self.rng.choice(self.clients)
        headers = {"Idempotency-Key": request.key} if request.key else {}
        try:
            response = await client.post("/v1/tickets", json=body, headers=headers)
        except httpx.HTTPError:
            request.answers.append(Answer(None))
            return
        said = content_of(response)
        code = (said.get("error") or {}).get("code")
        request.answers.append(Answer(response.status_code, code, said.get("ticket_id"), said.get("job_id")))

    async def _look(self, job_id: int, ends: float) -> None:
        while time.monotonic() < ends:
            prefer = {"Prefer": "wait=5"} if self.rng.random() < 0.5 else {}
            with suppress(httpx.HTTPError):
                response = await self.rng.choice(self.clients).get(f"/v1/jobs/{job_id}", headers=prefer)
                job = content_of(response)
                if response.status_code == 200 and job["state"] in FINISHED:
                    self.ledger.sightings.append(Sighting(job_id, job["state"], job["result"]))
                    return
                if is_unexpected(response, known=(200,)):
                    self.ledger.complaints.append(f"GET /v1/jobs/{job_id}: {response.status_code} {job}")
            await asyncio.sleep(self.rng.uniform(0.5, 3))


def content_of(response: httpx.Response) -> dict[str, Any]:
    """The JSON object of an answer; {} for anything else."""
    try:
        content = response.json()
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def is_unexpected(response: httpx.Response, *, known: tuple[int, ...]) -> bool:
    """Whether the app, and not the host around it, gave an answer that has no place here."""
    if response.status_code in known:
        return False
    code = (content_of(response).get("error") or {}).get("code")
    return code is not None and code != "database_unavailable"
