"""Tickets sent to a host at a steady rate, whatever the answers do."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

import httpx

from simulator.customers import make_schedule, write_tickets
from simulator.stack.web_server import WebServer


@dataclass(frozen=True)
class Accepted:
    """A ticket's 202, `latency_s` after the request was due; the estimate as in the answer."""

    job_id: int
    latency_s: float
    queued_ahead: int
    estimated_wait_s: float | None


class Refused(Exception):
    """A host did not accept a ticket that it should have."""


@asynccontextmanager
async def client_of(host: WebServer) -> AsyncIterator[httpx.AsyncClient]:
    """A client with as many connections as there are requests."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=host.url, limits=limits, timeout=30) as client:
        yield client


async def send_tickets(client: httpx.AsyncClient, count: int, rate: float) -> list[Accepted]:
    """Send `count` tickets, `rate` a second. Raises Refused unless all are accepted."""
    tickets = write_tickets(count, Random(1))
    began = time.monotonic()

    async def send(due_s: float, ticket: dict[str, str]) -> Accepted:
        await asyncio.sleep(began + due_s - time.monotonic())
        return await send_ticket(client, ticket, due_at=began + due_s)

    dues = make_schedule(rate, count / rate)
    return await asyncio.gather(*(send(due_s, ticket) for due_s, ticket in zip(dues, tickets, strict=True)))


async def send_ticket(client: httpx.AsyncClient, ticket: dict[str, str], *, due_at: float) -> Accepted:
    """Send one that is due at `due_at` on the monotonic clock. Raises Refused."""
    answer = await client.post("/v1/tickets", json=ticket)
    latency_s = time.monotonic() - due_at
    if answer.status_code != httpx.codes.ACCEPTED:
        raise Refused(f"{answer.status_code} {answer.text}")
    body = answer.json()
    return Accepted(body["job_id"], latency_s, body["queued_ahead"], body["estimated_wait_seconds"])
