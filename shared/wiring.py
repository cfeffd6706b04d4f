"""The composition root: everything is built here, once a process, at the first call that needs it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import get_args

import httpx

from shared.db import Database
from shared.decisions import Decisions
from shared.intake import Intake, Rules
from shared.kinds import ticket
from shared.kinds.kind import Kind
from shared.overview import Overview
from shared.passes import Kicks
from shared.provider import breaker
from shared.provider.breaker import Breaker
from shared.provider.client import Endpoint, Provider
from shared.provider.gate import Gate
from shared.provider.lane import Lane, Limits
from shared.queues.poison import Poison
from shared.queues.storage import Queues
from shared.relay import Relay
from shared.runs.run import Heart
from shared.settings import Settings
from shared.shutdown import on_terminate
from shared.status import Status
from shared.sweep import Backoff, Sweep
from shared.worker import Policy, Worker

KINDS: dict[str, Kind] = {kind.name: kind for kind in (ticket.KIND,)}

TIMER_STAY_S = 4.0  # a pass that stays lets coarse timers keep up with a backlog


@dataclass(frozen=True)
class App:
    """All that the functions need."""

    settings: Settings
    db: Database
    queues: Queues
    intake: Intake
    relay: Relay
    sweep: Sweep
    worker: Worker
    status: Status
    decisions: Decisions
    overview: Overview
    kick: Kicks
    http: httpx.AsyncClient

    async def close(self) -> None:
        """Give back what the app holds, when the process or a test ends."""
        await self.worker.heart.drain(within_s=self.settings.drain_seconds)
        await self.kick.stop()
        await self.http.aclose()
        await self.queues.close()
        await self.db.close()


async def build(settings: Settings, *, http: httpx.AsyncClient | None = None) -> App:
    """Build the app; connections are made in the background, so that this never fails for want of a server."""
    for noisy in ("azure", "httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    db = Database(settings.database_url, pool_size=settings.database_pool_size)
    await db.open()
    queues = Queues.connect(settings.jobs_queue)
    http = http or httpx.AsyncClient(limits=httpx.Limits(max_connections=100, max_keepalive_connections=50))
    provider = Provider(
        http,
        url=settings.provider_url,
        api_key=settings.provider_api_key,
        key_header=settings.provider_key_header,
        chat_model=settings.provider_chat_model,
        embedding_model=settings.provider_embedding_model,
        timeout_s=settings.provider_timeout,
    )
    limits = Limits.per_minute(
        calls=settings.provider_chat_rpm, burst=settings.provider_chat_burst, tokens=settings.provider_chat_tpm
    )
    lane = Lane(db, limits, settings.lane_pause_max_seconds)
    threshold = min(breaker.THRESHOLD, settings.job_max_attempts)
    lease_s = settings.provider_timeout + 5
    breakers = {endpoint: Breaker(db, endpoint, lease_s, threshold) for endpoint in get_args(Endpoint)}
    gate = Gate(provider, lane, breakers, settings.retry_base_seconds, settings.retry_cap_seconds)
    rules = Rules(
        max_attempts=settings.job_max_attempts,
        queue_max=settings.queue_max,
        rate_limit_per_minute=settings.rate_limit_per_minute,
        key_ttl_s=3600 * settings.idempotency_ttl_hours,
        lane=limits,
    )
    names = {"tickets": settings.ticket_queue}
    relay = Relay(db, queues, lane, names)
    sweep = Sweep(
        db,
        queues,
        Poison(db, queues, names),
        names,
        settings.job_lease_seconds,
        Backoff(settings.retry_base_seconds, settings.retry_cap_seconds),
    )
    kick = Kicks(relay, sweep)
    heart = Heart(db, lease_s=settings.job_lease_seconds, after_beat=kick.look)
    policy = Policy(settings.retry_base_seconds, settings.retry_cap_seconds, settings.run_slice_seconds)
    return App(
        settings=settings,
        db=db,
        queues=queues,
        intake=Intake(db, ticket.KIND, rules),
        relay=relay,
        sweep=sweep,
        worker=Worker(db, gate, heart, KINDS, policy, kick),
        status=Status(db, KINDS),
        decisions=Decisions(db, KINDS),
        overview=Overview(db, queues, lane),
        kick=kick,
        http=http,
    )


_app: App | None = None
_building: asyncio.Lock | None = None


async def app() -> App:
    """The process's app. Raises SettingsError, naming the setting at fault."""
    global _app, _building
    if _app is None:
        _building = _building or asyncio.Lock()
        async with _building:
            if _app is None:
                _app = await build(Settings.read())
                on_terminate(_app.worker.heart.drain, within_s=_app.settings.drain_seconds)
    return _app
