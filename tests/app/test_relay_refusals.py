"""Messages that the queue service refuses, and the readable ones that dead letters leave."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from shared.queues.storage import QueueRefused, Queues
from shared.relay import Relay
from shared.wiring import App
from tests.db.arrows import reach
from tests.stage import Mailroom, accept, announce, hasten, job_row, numbers, seed

POISON_KEYS = {"job_id", "delivery", "kind", "ticket_id", "attempts", "error", "dead_lettered_at", "request_id"}


class Unwilling(Queues):
    """Queues that refuse every message about some jobs; the rest is real."""

    def __init__(self, real: Queues, refused: set[int]) -> None:
        self._real = real
        self._refused = refused

    async def put(self, queue: str, text: str) -> Any:
        if json.loads(base64.b64decode(text))["job_id"] in self._refused:
            raise QueueRefused(f"queue {queue} refused the message: InvalidInput")
        return await self._real.put(queue, text)


class Swollen(Queues):
    """Queues whose messages are larger than the service takes, so that it is the service that refuses."""

    def __init__(self, real: Queues) -> None:
        self._real = real

    async def put(self, queue: str, text: str) -> Any:
        return await self._real.put(queue, text + 70_000 * "x")


async def test_put_when_refused_then_the_others_go_out_and_the_row_waits_longer_each_time(
    app: App, database_url: str, mailroom: Mailroom
) -> None:
    jobs = await seed(database_url, 10)
    relay = replace(app.relay, queues=Unwilling(app.queues, {jobs[4]}))
    waits = []
    for number in range(1, 5):
        await hasten(app.db)
        await relay.run_pass(stay_s=0)
        [row] = await app.db.fetch_dicts(
            "SELECT job_id, attempts, last_error, claimed_until, due_at - now() AS wait FROM outbox"
        )
        assert (row["job_id"], row["attempts"], row["claimed_until"]) == (jobs[4], number, None)
        assert "refused" in row["last_error"]
        waits.append(row["wait"])
        assert (await job_row(app.db, jobs[4]))["state"] == "queued"
    assert waits == sorted(waits)
    assert waits[0].total_seconds() > 0
    assert numbers(await mailroom.take_texts(mailroom.tickets)) == [(job, 1) for job in jobs if job != jobs[4]]


async def test_put_when_refused_five_times_then_its_job_has_failed_for_all_to_see(
    app: App, mailroom: Mailroom, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = await accept(app)
    relay = replace(app.relay, queues=Swollen(app.queues))
    for _ in range(5):
        await hasten(app.db)
        await relay.run_pass(stay_s=0)

    job, ask_again_s = await app.status.job(job_id)
    assert (job.state, job.attempts, ask_again_s) == ("failed", 0, None)
    assert job.last_error is not None
    assert job.last_error.code == "undeliverable"
    assert await app.db.fetch_dicts("SELECT * FROM outbox") == []
    assert f"job {job_id}: failed" in caplog.text

    await app.decisions.retry(job_id)
    assert numbers(await announce(app, mailroom)) == [(job_id, 2)]


async def test_dead_letter_then_one_readable_message_with_the_contracts_keys(app: App, mailroom: Mailroom) -> None:
    row = await reach(app.db, "dead_letter")
    await app.relay.run_pass(stay_s=0)

    [letter] = await mailroom.peek(f"{mailroom.tickets}-poison")
    assert set(letter) == POISON_KEYS
    assert {key: letter[key] for key in POISON_KEYS - {"dead_lettered_at"}} == {
        "job_id": row["job_id"],
        "delivery": row["delivery"],
        "kind": "ticket",
        "ticket_id": f"T-{row['ticket_id']}",
        "attempts": 1,
        "error": {"code": "provider_unavailable", "message": "The provider answered 503."},
        "request_id": "r1",
    }
    assert letter["dead_lettered_at"].startswith(row["finished_at"].strftime("%Y-%m-%dT%H:%M:%S"))
    assert letter["dead_lettered_at"].endswith("Z")
    dead = await job_row(app.db, row["job_id"])
    assert dead["poison_message_id"] is not None
    assert dead["poison_put_at"] is not None
    assert await mailroom.take_texts(mailroom.tickets) == []


async def test_poison_message_when_refused_again_and_again_then_its_job_stays_a_dead_letter(
    app: App, mailroom: Mailroom
) -> None:
    row = await reach(app.db, "dead_letter")
    relay: Relay = replace(app.relay, queues=Unwilling(app.queues, {row["job_id"]}))
    for _ in range(7):
        await hasten(app.db)
        await relay.run_pass(stay_s=0)
    assert (await job_row(app.db, row["job_id"]))["state"] == "dead_letter"

    await hasten(app.db)
    await app.relay.run_pass(stay_s=0)

    assert len(await mailroom.peek(f"{mailroom.tickets}-poison")) == 1
