"""The app with a database and queues of the test's own put in, and a sweep that has watched for ever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import LiteralString

import httpx

from shared.db import Database
from shared.idempotency import SingleFlight
from shared.kinds.kind import Kind
from shared.queues.storage import Queues
from shared.relay import Relay
from shared.runs.run import Heart
from shared.settings import Settings
from shared.sweep import Watch
from shared.wiring import App, build
from tests.conftest import UNLIMITED

LONG_S = 3600.0  # a lease that no test outlives: a run is lost when the test says so


class Always(Watch):
    """Has watched for ever."""

    def looked(self) -> float:
        return float("inf")


async def build_offline(database_url: str, kinds: Mapping[str, Kind], **more: str) -> App:
    """An app that meets nobody but the database: no limits, no storage account, no provider."""
    settings = Settings.read(
        {
            **UNLIMITED,
            "DATABASE_URL": database_url,
            "JobsQueue": "UseDevelopmentStorage=true",
            "PROVIDER_URL": "http://provider/v1",
            "PROVIDER_API_KEY": "test-key",
            **more,
        }
    )
    nobody = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(404)))
    return await build(settings, http=nobody, kinds=kinds)


def rewired(app: App, db: Database, queues: Queues, names: Mapping[str, str]) -> App:
    """A process as new, of the same make, on `db` and the queues of `names`; it remembers nothing, and nothing in it
    happens by itself: no kicks, no heartbeats within an hour."""
    lane = replace(app.relay.lane, db=db)
    gate = app.worker.gate
    gate = replace(gate, lane=lane, breakers={name: replace(one, db=db) for name, one in gate.breakers.items()})
    poison = replace(app.sweep.poison, db=db, queues=queues, names=names)
    sweep = replace(app.sweep, db=db, queues=queues, poison=poison, names=names, lease_s=0.02)
    sweep.watch = Always(gap_s=0)
    return replace(
        app,
        intake=replace(app.intake, db=db, flights=SingleFlight()),
        relay=Relay(db, queues, lane, names, app.relay.share_limits),
        sweep=sweep,
        worker=replace(app.worker, db=db, gate=gate, heart=Heart(db, lease_s=LONG_S), kick=lambda: None),
        decisions=replace(app.decisions, db=db),
    )


#: Hours pass: what waits for its time is due, what a dead pass held is free, messages count as settled or as lost.
TIME_PASSES: LiteralString = """
UPDATE jobs SET run_after = least(run_after, now()), announced_at = announced_at - interval '2 hours',
    poison_put_at = poison_put_at - interval '2 hours'
WHERE state IN ('queued', 'dead_letter');
UPDATE outbox SET due_at = least(due_at, now()), claimed_until = NULL;
UPDATE poison_passes SET held_until = '-infinity', done_at = done_at - interval '2 hours'
"""
LEASES_RUN_OUT: LiteralString = (
    "UPDATE jobs SET locked_until = clock_timestamp() - interval '1 second' WHERE state = 'running'"
)
