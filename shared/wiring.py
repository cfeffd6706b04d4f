"""The composition root: everything is built here, once a process, at the first call that needs it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

import httpx

from shared import log, pulse
from shared.api.numbers import Queue
from shared.db import Database
from shared.decisions import Decisions
from shared.identity import Identity
from shared.intake import Intake, Rules
from shared.kinds import support_report, ticket, webhook
from shared.kinds.kind import Kind
from shared.overview import Overview
from shared.passes import Kicks
from shared.provider import breaker
from shared.provider.breaker import Breaker
from shared.provider.client import Endpoint, Provider
from shared.provider.gate import Gate
from shared.provider.lane import Lane, Limits
from shared.queues import outbox
from shared.queues.poison import Poison
from shared.queues.storage import Queues
from shared.recent import Recent
from shared.relay import Relay
from shared.runs.run import Heart
from shared.settings import Settings, SettingsError, unresolved
from shared.shutdown import on_terminate
from shared.signals import Signals
from shared.status import Status
from shared.sweep import Backoff, Sweep
from shared.telemetry import OFF, Telemetry, telemetry
from shared.waiting import WaitingRoom
from shared.webhooks.courier import Courier
from shared.webhooks.sender import Sender
from shared.webhooks.signature import Signer
from shared.worker import Policy, Worker

WEBHOOKS_PER_HOST = 2
LAST_WORDS_S = 2.0  # the host waits ten seconds for a worker that ends
GLANCE_S = 1.0  # twenty open pages ask ten times a second
TIMER_STAY_S = 4.0  # a pass that stays lets coarse timers keep up with a backlog

_log = log.logger("wiring")


@dataclass(frozen=True)
class App:
    """All that the functions need."""

    settings: Settings
    identity: Identity
    db: Database
    queues: Queues
    intake: Intake
    relay: Relay
    sweep: Sweep
    worker: Worker
    status: Status
    decisions: Decisions
    overview: Overview
    glance: Recent[Queue]
    kick: Kicks
    http: httpx.AsyncClient
    telemetry: Telemetry

    async def drain(self, *, within_s: float) -> None:
        """Let the runs come to an end, and send what there is to tell of them."""
        await self.worker.heart.drain(within_s=within_s)
        await self.telemetry.send(within_s=LAST_WORDS_S)

    async def close(self) -> None:
        """Give back what the app holds, when the process or a test ends."""
        await self.drain(within_s=self.settings.drain_seconds)
        await asyncio.to_thread(self.telemetry.close)
        await self.kick.stop()
        await self.http.aclose()
        await self.queues.close()
        await self.db.close()
        await self.identity.close()


async def build(
    settings: Settings,
    *,
    http: httpx.AsyncClient | None = None,
    kinds: Mapping[str, Kind] | None = None,
    telemetry: Telemetry = OFF,
) -> App:
    """Build the app; connections are made in the background, so that this never fails for want of a server.

    Raises SettingsError, and leaves nothing open then.
    """
    log.quieten_libraries()
    signals, identity = telemetry.signals, Identity.managed(settings.client_id)
    db, queues = _database(settings, identity), _queues(settings, identity)
    kinds = known_kinds(settings) if kinds is None else kinds
    http = http or httpx.AsyncClient(limits=httpx.Limits(max_connections=100, max_keepalive_connections=50))
    lane = Lane(db, _limits(settings), settings.lane_pause_max_seconds)
    names, share_limits = _names(settings), _share_limits(settings)
    overview = Overview(db, queues, lane, share_limits, settings.ticket_queue)
    relay = Relay(db, queues, lane, names, share_limits, signals)
    backoff = Backoff(settings.retry_base_seconds, settings.retry_cap_seconds)
    poison, report = Poison(db, queues, names), pulse.of(overview, telemetry, kinds)
    sweep = Sweep(db, queues, poison, names, settings.job_lease_seconds, backoff, report)
    kick = Kicks(relay, sweep)
    heart = Heart(db, lease_s=settings.job_lease_seconds, after_beat=kick.look)
    gate, courier = _gate(settings, db, http, lane, signals), _courier(settings, signals)
    app = App(
        settings=settings,
        identity=identity,
        db=db,
        queues=queues,
        intake=Intake(db, ticket.KIND, kinds, _rules(settings, lane.limits), signals),
        relay=relay,
        sweep=sweep,
        worker=Worker(db, gate, courier, heart, kinds, _policy(settings), kick, signals),
        status=Status(db, kinds, WaitingRoom(db)),
        decisions=Decisions(db, kinds),
        overview=overview,
        glance=Recent(overview.queue, keep_s=GLANCE_S),
        kick=kick,
        http=http,
        telemetry=telemetry,
    )
    await db.open()
    return app


def known_kinds(settings: Settings) -> dict[str, Kind]:
    """Every kind of job, by name."""
    kinds = (ticket.KIND, support_report.make(settings.report_parallelism), webhook.KIND)
    return {kind.name: kind for kind in kinds}


def _database(settings: Settings, identity: Identity) -> Database:
    return Database(
        settings.database_url,
        pool_size=settings.database_pool_size,
        prepare=settings.database_prepare,
        password=identity.database_password if settings.database_auth == "entra" else None,
    )


def _queues(settings: Settings, identity: Identity) -> Queues:
    if settings.jobs_queue:
        return Queues.connect(settings.jobs_queue)
    return Queues.sign_in(settings.queue_service_uri, identity)


def _names(settings: Settings) -> dict[str, str]:
    return {"tickets": settings.ticket_queue, "reports": settings.report_queue, "webhooks": settings.webhook_queue}


def _share_limits(settings: Settings) -> dict[str, int]:
    return {"tickets": outbox.NO_LIMIT, "reports": settings.reports_max_running, "webhooks": WEBHOOKS_PER_HOST}


def _limits(settings: Settings) -> Limits:
    return Limits.per_minute(
        calls=settings.provider_chat_rpm, burst=settings.provider_chat_burst, tokens=settings.provider_chat_tpm
    )


def _rules(settings: Settings, limits: Limits) -> Rules:
    return Rules(
        max_attempts=settings.job_max_attempts,
        queue_max=settings.queue_max,
        rate_limit_per_minute=settings.rate_limit_per_minute,
        key_ttl_s=3600 * settings.idempotency_ttl_hours,
        allow_private_webhooks=settings.webhook_allow_private,
        lane=limits,
    )


def _policy(settings: Settings) -> Policy:
    return Policy(
        retry_base_s=settings.retry_base_seconds,
        retry_cap_s=settings.retry_cap_seconds,
        slice_s=settings.run_slice_seconds,
        approval_ttl_s=3600 * settings.approval_ttl_hours,
    )


def _gate(settings: Settings, db: Database, http: httpx.AsyncClient, lane: Lane, signals: Signals) -> Gate:
    provider = Provider(
        http,
        url=settings.provider_url,
        api_key=settings.provider_api_key,
        key_header=settings.provider_key_header,
        chat_model=settings.provider_chat_model,
        embedding_model=settings.provider_embedding_model,
        timeout_s=settings.provider_timeout,
        signals=signals,
    )
    threshold = breaker.threshold(settings.job_max_attempts)
    lease_s = settings.provider_timeout + 5
    breakers = {endpoint: Breaker(db, endpoint, lease_s, threshold) for endpoint in get_args(Endpoint)}
    return Gate(provider, lane, breakers, settings.retry_base_seconds, settings.retry_cap_seconds)


def _courier(settings: Settings, signals: Signals) -> Courier:
    secret = settings.webhook_secret
    signer = Signer(secret, settings.webhook_secret_previous) if secret else None
    return Courier(signer, Sender(allow_private=settings.webhook_allow_private), signals)


async def _build_telling(settings: Settings, listeners: Telemetry) -> App:
    """Build the app; when it cannot be built, end the listeners with it, for the next try brings its own."""
    try:
        return await build(settings, telemetry=listeners)
    except SettingsError:
        await asyncio.to_thread(listeners.close)
        raise


_app: App | None = None
_building: asyncio.Lock | None = None


async def app() -> App:
    """The process's app. Raises SettingsError, naming the setting at fault."""
    global _app, _building
    if _app is None:
        _building = _building or asyncio.Lock()
        async with _building:
            if _app is None:
                settings = Settings.read()
                if settings.log_format == "json":
                    log.write_json()
                for name in unresolved():
                    _log.error("%s: not read from Key Vault; is the secret there, and may the identity read it?", name)
                _app = await _build_telling(settings, telemetry(settings))
                on_terminate(_app.drain, within_s=settings.drain_seconds)
    return _app
