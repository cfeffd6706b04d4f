"""The relay on real Postgres and real Azurite: late commits, rows that do not fit, crashes, two passes at once."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from shared.queues.storage import QueueRefused, Queues
from shared.relay import Relay
from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation
from tests.db.arrows import everything, reach, send
from tests.stage import SEED, Mailroom, accept, announce, hasten, job_row, runs_of, seed, transaction

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


class Deadly(Queues):
    """Queues that take a message and then never return to the one who put it."""

    def __init__(self, real: Queues) -> None:
        self._real = real
        self.has_put = asyncio.Event()

    async def put(self, queue: str, text: str) -> Any:
        await self._real.put(queue, text)
        self.has_put.set()
        await asyncio.Event().wait()


def numbers(texts: list[str]) -> list[tuple[int, int]]:
    """The messages as (job_id, delivery), in order."""
    return sorted((json.loads(text)["job_id"], json.loads(text)["delivery"]) for text in texts)


async def test_row_when_committed_after_a_later_one_was_sent_then_sent_too(
    app: App, database_url: str, mailroom: Mailroom
) -> None:
    async with transaction(database_url) as connection:
        early = await (await connection.execute(SEED)).fetchone()
        assert early is not None
        late = await accept(app)
        assert late > early["job_id"]
        assert numbers(await announce(app, mailroom)) == [(late, 1)]

    assert numbers(await announce(app, mailroom)) == [(early["job_id"], 1)]


async def test_row_when_an_earlier_one_was_rolled_back_then_the_gap_stops_nobody(
    app: App, database_url: str, mailroom: Mailroom
) -> None:
    with pytest.raises(ZeroDivisionError):
        async with transaction(database_url) as connection:
            await connection.execute(SEED)
            raise ZeroDivisionError
    job_id = await accept(app)
    assert numbers(await announce(app, mailroom)) == [(job_id, 1)]


async def test_message_then_small_base64_json_that_does_not_expire_on_a_queue_made_for_it(
    app: App, mailroom: Mailroom
) -> None:
    job_id = await accept(app, body="\U0001f600" * 5_000)
    await app.relay.run_pass(stay_s=0)
    [message] = await mailroom.take(mailroom.tickets)

    assert json.loads(base64.b64decode(message.content, validate=True)) == {"job_id": job_id, "delivery": 1}
    assert message.expires_on is not None
    assert message.expires_on.year > 9000


async def test_pass_when_rows_are_out_of_date_then_dropped_and_the_others_sent_once(
    app: App, mailroom: Mailroom
) -> None:
    good = [await accept(app) for _ in range(9)]
    for state in ("running", "waiting_for_approval", "succeeded", "failed", "cancelled", "dead_letter"):
        await reach(app.db, state)
    await app.db.execute("INSERT INTO outbox (queue, purpose, job_id, delivery) VALUES ('tickets', 'work', 1, 7)")
    await app.db.execute("INSERT INTO outbox (queue, purpose, job_id, delivery) VALUES ('tickets', 'work', 1, 0)")
    await app.db.execute("INSERT INTO outbox (queue, purpose, job_id, delivery) VALUES ('tickets', 'poison', 1, 1)")

    assert numbers(await announce(app, mailroom)) == [(job_id, 1) for job_id in good]

    assert await app.db.fetch_dicts("SELECT * FROM outbox") == []
    assert await announce(app, mailroom) == []


async def test_job_when_announced_then_it_says_so_and_an_empty_pass_writes_nothing(
    app: App, mailroom: Mailroom
) -> None:
    job_id = await accept(app)
    await announce(app, mailroom)
    assert (await job_row(app.db, job_id))["announced_at"] is not None
    before = await everything(app.db)

    await announce(app, mailroom)

    assert await everything(app.db) == before


async def test_row_when_not_due_then_it_waits_for_its_time(app: App, mailroom: Mailroom) -> None:
    row = await reach(app.db, "running")
    await send(app.db, "retry_later", row)
    assert await announce(app, mailroom) == []

    await hasten(app.db)

    assert numbers(await announce(app, mailroom)) == [(row["job_id"], 2)]


async def test_pass_when_it_stays_then_it_sends_what_becomes_due_meanwhile(app: App, mailroom: Mailroom) -> None:
    job_id = await accept(app)
    await app.db.execute("UPDATE outbox SET due_at = now() + interval '0.2 seconds'")
    await app.relay.run_pass(stay_s=5)
    assert numbers(await mailroom.take_texts(mailroom.tickets)) == [(job_id, 1)]


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
    # More than the service takes, so that it is the service that refuses.
    await app.db.execute("UPDATE jobs SET traceparent = repeat('x', 70000)")
    for _ in range(5):
        await hasten(app.db)
        await app.relay.run_pass(stay_s=0)

    job, ask_again_s = await app.status.job(job_id)
    assert (job.state, job.attempts, ask_again_s) == ("failed", 0, None)
    assert job.last_error is not None
    assert job.last_error.code == "undeliverable"
    assert await app.db.fetch_dicts("SELECT * FROM outbox") == []
    assert f"job {job_id}: failed" in caplog.text

    await app.db.execute("UPDATE jobs SET traceparent = NULL")
    await app.decisions.retry(job_id)
    assert numbers(await announce(app, mailroom)) == [(job_id, 2)]


async def test_pass_when_killed_between_put_and_delete_then_a_second_message_but_one_run(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    job_id = await accept(app)
    queues = Deadly(app.queues)
    dying = asyncio.create_task(replace(app.relay, queues=queues).run_pass(stay_s=0))
    await queues.has_put.wait()
    dying.cancel()
    await asyncio.wait({dying})
    assert await announce(app, mailroom) == [f'{{"job_id":{job_id},"delivery":1}}']
    assert await app.db.fetch_dicts("SELECT attempts FROM outbox") == [{"attempts": 0}]

    await hasten(app.db)
    first_and_second = [f'{{"job_id":{job_id},"delivery":1}}', *await announce(app, mailroom)]
    assert len(first_and_second) == 2
    for text in first_and_second:
        await worker.work(text)

    assert await runs_of(app.db, job_id) == [(1, 1, "succeeded")]
    assert provider.counters.snapshot()["total"] == 3


async def test_row_when_claimed_an_hour_ago_then_sent(app: App, mailroom: Mailroom) -> None:
    job_id = await accept(app)
    await app.db.execute("UPDATE outbox SET claimed_until = now() - interval '1 hour'")
    assert numbers(await announce(app, mailroom)) == [(job_id, 1)]


async def test_row_when_another_pass_has_it_then_left_alone(app: App, mailroom: Mailroom) -> None:
    await accept(app)
    await app.db.execute("UPDATE outbox SET claimed_until = now() + interval '9 seconds'")
    assert await announce(app, mailroom) == []


async def test_two_passes_when_at_once_over_200_rows_then_each_is_sent_once(
    app: App, database_url: str, mailroom: Mailroom
) -> None:
    jobs = await seed(database_url, 200)

    await asyncio.gather(*(app.relay.run_pass(stay_s=0) for _ in range(2)))

    counted = Counter(numbers(await mailroom.take_texts(mailroom.tickets)))
    assert counted == Counter((job_id, 1) for job_id in jobs)
    assert await app.db.fetch_dicts("SELECT * FROM outbox") == []


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
