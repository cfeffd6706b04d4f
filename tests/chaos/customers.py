"""Customers: an open arrival of tickets and reports, many with an Idempotency-Key, asked for again until answered."""

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
READERS = 0.25  # customers who look until their job is done
REPORTS = 0.05
TRIES = 12
PATIENCE_S = 12.0


def open_clients(urls: Sequence[str]) -> tuple[httpx.AsyncClient, ...]:
    """A client for each host, which opens as many connections as there are requests."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    return tuple(httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, limits=limits) for url in urls)


@dataclass
class Customers:
    """All customers; `clients` are the ways in, one a host, `receiver_url` is where events about reports go.

    Everything they hear goes into the ledger.
    """

    clients: tuple[httpx.AsyncClient, ...]
    ledger: Ledger
    rng: Random
    receiver_url: str
    _customers: list[str] = field(default_factory=lambda: [customer.customer_id for customer in make_customers()])

    async def come(self, *, per_second: float, for_s: float) -> None:
        """They come at random moments whatever the answers do; returns when everybody has given up or is served."""
        ends = time.monotonic() + for_s
        async with asyncio.TaskGroup() as group:
            while time.monotonic() < ends:
                group.create_task(self._visit(ends))
                await asyncio.sleep(self.rng.expovariate(per_second))

    async def ask_again(self, *, at_most: int) -> None:
        """Some who got an answer under their key ask once more: they have to hear the same."""
        answered = [request for request in self.ledger.requests if request.key and request.was_accepted]
        for request in self.rng.sample(answered, min(at_most, len(answered))):
            await self._send(request)

    async def _visit(self, ends: float) -> None:
        request = self._new_request()
        self.ledger.requests.append(request)
        if request.key and self.rng.random() < SENT_TWICE_AT_ONCE:
            await asyncio.gather(*(self._send(request, client) for client in self.clients))
        else:
            await self._send(request)
        for _ in range(TRIES if request.key else 0):
            if request.was_accepted or time.monotonic() > ends:
                break
            await asyncio.sleep(self.rng.uniform(0.2, 3))
            await self._send(request)
        job_id = next((answer.job_id for answer in request.answers if answer.job_id), None)
        if job_id is not None and self.rng.random() < READERS:
            await self._look(job_id, ends)

    def _new_request(self) -> Request:
        number = len(self.ledger.requests) + 1
        token = f"[q{number}]"
        key = f"chaos-key-{number}" if self.rng.random() < WITH_KEY else None
        if self.rng.random() < REPORTS:
            return Request(token, key, "/v1/jobs", self._new_report(token))
        return Request(token, key, "/v1/tickets", self._new_ticket(token))

    def _new_ticket(self, token: str) -> dict[str, Any]:
        story = write_story(self.rng)
        return {
            "customer_id": self.rng.choice(self._customers),
            "subject": f"{story.subject[:80]} {token}",
            "body": story.body,
            "channel": story.channel,
        }

    def _new_report(self, token: str) -> dict[str, Any]:
        return {
            "task": f"What do people write about? {token}",
            "workspace_id": self.rng.choice(("team_42", "team_7")),
            "input": {"max_tickets": self.rng.choice((20, 60, 120))},
            "require_approval": self.rng.random() < 0.4,
            "webhook_url": self.receiver_url if self.rng.random() < 0.7 else None,
        }

    async def _send(self, request: Request, client: httpx.AsyncClient | None = None) -> None:
        client = client or self.rng.choice(self.clients)
        headers = {"Idempotency-Key": request.key} if request.key else {}
        try:
            response = await client.post(request.path, json=request.body, headers=headers)
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
