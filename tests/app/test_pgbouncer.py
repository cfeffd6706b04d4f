"""Intake, relay, worker and sweep through PgBouncer in transaction mode: nothing depends on the session."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from shared.wiring import App
from shared.worker import Worker
from simulator.stack.postgres import Postgres
from tests import pgbouncer
from tests.front import Front
from tests.pgbouncer import PgBouncer
from tests.stage import APP_ROLE, Mailroom, announce, finish

pytestmark = pytest.mark.skipif(pgbouncer.binary() is None, reason=pgbouncer.MISSING)

TICKETS = 10


@pytest.fixture(scope="module")
def bouncer(postgres: Postgres) -> Iterator[PgBouncer]:
    folder = Path(tempfile.mkdtemp(prefix="pgbouncer-"))
    folder.chmod(0o711)  # the account that root lends passes through
    try:
        with PgBouncer(folder, postgres, APP_ROLE) as server:
            yield server
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def environment(environment: dict[str, str], bouncer: PgBouncer) -> dict[str, str]:
    """The app's environment, with PgBouncer in between."""
    return environment | {"DATABASE_URL": bouncer.url, "DATABASE_PREPARE": "false"}


async def test_tickets_when_all_goes_through_pgbouncer_then_each_has_its_result(
    app: App, front: Front, mailroom: Mailroom, worker: Worker, bouncer: PgBouncer
) -> None:
    accepted = await asyncio.gather(
        *(
            front.post(
                "/v1/tickets", {"customer_id": "C-0022", "subject": f"Ticket {number}"}, {"Idempotency-Key": key}
            )
            for number in range(TICKETS)
            for key in (f"key-{number:04}", f"key-{number:04}")
        )
    )
    assert {answer.status for answer in accepted} == {202}
    assert len({answer.json()["job_id"] for answer in accepted}) == TICKETS
    await app.kick.settled()

    async def work_all() -> None:
        await asyncio.gather(*(worker.work(text) for text in await announce(app, mailroom)))

    await asyncio.gather(work_all(), work_all())
    await app.sweep.run_pass()
    await finish(app, mailroom, worker)

    assert await app.db.fetch_dicts("SELECT state, attempts, run, count(*) AS jobs FROM jobs GROUP BY 1, 2, 3") == [
        {"state": "succeeded", "attempts": 1, "run": 1, "jobs": TICKETS}
    ]
    queue = (await front.get("/v1/queue")).json()
    assert (queue["queued"], queue["running"], queue["outbox_pending"]) == (0, 0, 0)
    with psycopg.connect(bouncer.url.replace("/postgres", "/pgbouncer"), autocommit=True) as console:
        # Really through it, and really shared.
        columns = console.execute("SHOW POOLS")
        assert columns.description is not None
        names = [column.name for column in columns.description]
        pools = [dict(zip(names, row, strict=True)) for row in columns.fetchall()]
    [ours] = [pool for pool in pools if pool["database"] == "postgres"]
    assert ours["pool_mode"] == "transaction"
    assert 1 <= ours["sv_active"] + ours["sv_idle"] + ours["sv_used"] <= pgbouncer.SERVER_CONNECTIONS


async def test_limits_of_the_role_when_through_pgbouncer_then_they_hold(app: App) -> None:
    assert await app.db.fetch_dict("SHOW statement_timeout") == {"statement_timeout": "15s"}
