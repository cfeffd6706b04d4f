"""The relay on real Postgres and real Azurite: late commits, rows that do not fit, crashes, two passes at once."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from shared.queues.storage import Queues
from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation
from tests.db.arrows import everything, reach, send
from tests.stage import SEED, Mailroom, accept, announce, hasten, job_row, numbers, runs_of, seed, transaction


class Deadly(Queues):
    """Queues that take a message and then never return to the one who put it."""

    def __init__(self, real: Queues) -> None:
        self._real = real
        self.has_put = asyncio.Event()

    async def put(self, queue: str, text: str) -> Any:
        await self._real.put(queue, text)
        self.has_put.set()
        await asyncio.Event().wait()


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


async def test_rows_when_another_pass_has_them_in_hand_then_neither_waited_for_nor_sent(
    app: App, mailroom: Mailroom, database_url: str
) -> None:
    job_id = await accept(app)
    dead = (await reach(app.db, "dead_letter"))["job_id"]
    async with transaction(database_url) as other:
        await other.execute("SELECT 1 FROM outbox FOR UPDATE")
        async with asyncio.timeout(5):
            assert await announce(app, mailroom) == []
    assert numbers(await announce(app, mailroom)) == [(job_id, 1)]
    assert [letter["job_id"] for letter in await mailroom.peek(f"{mailroom.tickets}-poison")] == [dead]
