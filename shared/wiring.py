"""The composition root: everything is built here, once a process, at the first call that needs it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import httpx

from shared.db import Database
from shared.intake import Intake
from shared.kinds import ticket
from shared.kinds.kind import Kind
from shared.passes import Kick
from shared.provider import Provider
from shared.queues import Queues
from shared.relay import Relay
from shared.runs import Heart
from shared.settings import Settings
from shared.shutdown import on_terminate
from shared.status import Status
from shared.worker import Policy, Worker

KINDS: dict[str, Kind] = {kind.name: kind for kind in (ticket.KIND,)}

TIMER_STAY_S = 4.0  # a pass that stays lets coarse timers keep up with a backlog
KICK_STAY_S = 1.5


@dataclass(frozen=True)
class App:
    """All that the functions need."""

    settings: Settings
    db: Database
    queues: Queues
    intake: Intake
    relay: Relay
    worker: Worker
    status: Status
    kick: Kick
    http: httpx.AsyncClient

    async def close(self) -> None:
        """Give back what the app holds, when the process or a test ends."""
        await self.worker.heart.drain(within_s=self.settings.drain_seconds)
        await self.kick.settled()
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
    relay = Relay(db, queues, {"tickets": settings.ticket_queue})
    kick = Kick(lambda: relay.run_pass(stay_s=KICK_STAY_S))
    heart = Heart(db, lease_s=settings.job_lease_seconds, after_beat=kick)
    provider = Provider(
        http,
        url=settings.provider_url,
        api_key=settings.provider_api_key,
        key_header=settings.provider_key_header,
        chat_model=settings.provider_chat_model,
        embedding_model=settings.provider_embedding_model,
        timeout_s=settings.provider_timeout,
    )
    policy = Policy(settings.retry_base_seconds, settings.retry_cap_seconds, settings.run_slice_seconds)
    return App(
        settings=settings,
        db=db,
        queues=queues,
        intake=Intake(db, ticket.KIND, settings.job_max_attempts),
        relay=relay,
        worker=Worker(db, provider, heart, KINDS, policy, kick),
        status=Status(db, queues, KINDS),
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
