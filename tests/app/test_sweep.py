"""Passes of the sweep: dead workers, lost messages, and the poison queue in step with the rows."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from shared.api.asked import Discard
from shared.kinds.kind import Desk
from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation
from tests.db.arrows import everything, reach
from tests.kinds import kind_of
from tests.stage import Mailroom, accept, announce, finish, job_row, runs_of, until

SHORT = pytest.mark.settings(JOB_LEASE_SECONDS="0.4")


async def length(mailroom: Mailroom) -> int:
    """How many messages the poison queue holds, hidden ones too."""
    properties = await mailroom.queue(f"{mailroom.tickets}-poison").get_queue_properties()
    return int(properties.approximate_message_count or 0)


async def poisoned(app: App, mailroom: Mailroom) -> tuple[int, dict[str, Any]]:
    """A dead letter whose message lies on the poison queue: the job's id, and the message."""
    row = await reach(app.db, "dead_letter")
    await app.relay.run_pass(stay_s=0)
    [letter] = [one for one in await mailroom.peek(f"{mailroom.tickets}-poison") if one["job_id"] == row["job_id"]]
    return row["job_id"], letter


def encoded(message: object) -> str:
    return base64.b64encode(json.dumps(message).encode()).decode()


@SHORT
async def test_job_when_its_worker_dies_then_another_one_finishes_it_without_paying_twice(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    at_work = asyncio.Event()

    async def first(desk: Desk) -> str:
        return "one"

    async def hang(desk: Desk) -> str:
        at_work.set()
        await asyncio.Event().wait()
        return ""

    async def second(desk: Desk) -> str:
        return "two"

    job_id = await accept(app)
    [text] = await announce(app, mailroom)
    dying = asyncio.create_task(replace(worker, kinds=kind_of(first, hang)).work(text))
    await at_work.wait()
    dying.cancel()
    await asyncio.wait({dying})
    assert (await job_row(app.db, job_id))["state"] == "running"

    async def is_found() -> bool:
        await app.sweep.run_pass()
        return bool((await job_row(app.db, job_id))["state"] == "queued")

    await until(is_found, "the dead worker is noticed")
    await finish(app, mailroom, replace(worker, kinds=kind_of(hang, second)))

    row = await job_row(app.db, job_id)
    assert (row["state"], row["result"]) == ("succeeded", {"step_1": "one", "step_2": "two"})
    assert await runs_of(app.db, job_id) == [(1, 1, "lost"), (2, 2, "succeeded")]


async def test_lease_when_over_and_the_process_has_only_just_begun_to_look_then_not_judged_yet(app: App) -> None:
    row = await reach(app.db, "running")
    await app.db.execute("UPDATE jobs SET locked_until = now() - interval '1 second'")
    # With a lease of 30 s the pass would stay for 15 s.
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await app.sweep.run_pass()
    assert (await job_row(app.db, row["job_id"]))["state"] == "running"


@SHORT
async def test_message_when_lost_before_its_claim_then_announced_again_and_worked(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    job_id = await accept(app)
    assert len(await announce(app, mailroom)) == 1
    await app.db.execute("UPDATE jobs SET announced_at = now() - interval '31 seconds'")

    async def is_found() -> bool:
        await app.sweep.run_pass()
        return bool((await job_row(app.db, job_id))["delivery"] == 2)

    await until(is_found, "the lost message is noticed")
    await finish(app, mailroom, worker)
    assert await runs_of(app.db, job_id) == [(1, 1, "succeeded")]


@SHORT
async def test_messages_when_workers_are_off_then_none_is_announced_again(app: App, mailroom: Mailroom) -> None:
    for _ in range(3):
        await accept(app)
    await app.relay.run_pass(stay_s=0)
    await app.db.execute("UPDATE jobs SET announced_at = now() - interval '1 hour'")
    await app.sweep.run_pass()
    await app.sweep.run_pass()
    assert await app.db.fetch_dicts("SELECT DISTINCT delivery, unclaimed FROM jobs") == [
        {"delivery": 1, "unclaimed": 0}
    ]
    assert len(await mailroom.peek(mailroom.tickets)) == 3


async def test_pass_when_there_is_nothing_to_do_then_it_writes_nothing(app: App, mailroom: Mailroom) -> None:
    await poisoned(app, mailroom)
    await accept(app)
    await app.sweep.run_pass()
    before = await everything(app.db)
    await app.sweep.run_pass()
    assert await everything(app.db) == before


async def test_poison_queue_when_copies_and_old_numbers_lie_on_it_then_one_message_a_dead_letter_and_strays_stay(
    app: App, mailroom: Mailroom
) -> None:
    job_id, letter = await poisoned(app, mailroom)
    queue = mailroom.queue(f"{mailroom.tickets}-poison")
    living = await accept(app)
    for text in (
        encoded(letter),
        encoded(letter | {"delivery": letter["delivery"] - 1}),
        encoded({"job_id": living, "delivery": 1}),
        encoded({"job_id": 999_999, "delivery": 1}),
        encoded("a stray"),
        "not even base64!",
    ):
        await queue.send_message(text)

    await app.sweep.run_pass()

    assert await length(mailroom) == 3
    row = await job_row(app.db, job_id)
    assert (row["state"], row["poison_message_id"] is None) == ("dead_letter", False)
    assert (await job_row(app.db, living))["state"] == "queued"


async def test_poison_message_when_deleted_by_hand_then_put_again(app: App, mailroom: Mailroom) -> None:
    job_id, _ = await poisoned(app, mailroom)
    await mailroom.take(f"{mailroom.tickets}-poison")
    await app.sweep.run_pass()
    assert await app.db.fetch_dicts("SELECT 1 AS one FROM outbox") == [], "it may still be on its way"
    await app.db.execute("UPDATE jobs SET poison_put_at = now() - interval '30 seconds'")

    await app.sweep.run_pass()
    await app.relay.run_pass(stay_s=0)

    [letter] = await mailroom.peek(f"{mailroom.tickets}-poison")
    assert letter["job_id"] == job_id


@pytest.mark.parametrize("decision", ["retry", "discard"])
async def test_poison_message_when_its_job_has_left_then_deleted(app: App, mailroom: Mailroom, decision: str) -> None:
    await app.db.execute("INSERT INTO poison_passes (queue, done_at) VALUES ('tickets', now())")
    job_id, _ = await poisoned(app, mailroom)
    if decision == "retry":
        await app.decisions.retry(job_id)
    else:
        await app.decisions.discard(job_id, Discard(discarded_by="Ada"))
    await app.sweep.run_pass()
    assert await length(mailroom) == 0


async def test_poison_messages_when_a_second_pass_comes_soon_then_the_hidden_ones_do_not_count_as_deleted(
    app: App, mailroom: Mailroom
) -> None:
    stays, leaves = [(await poisoned(app, mailroom))[0] for _ in range(2)]
    await app.db.execute("UPDATE jobs SET poison_put_at = now() - interval '1 hour'")
    await app.sweep.run_pass()
    await app.decisions.discard(leaves, Discard(discarded_by="Ada"))

    await app.sweep.run_pass()

    assert await app.db.fetch_dicts("SELECT job_id FROM outbox WHERE purpose = 'poison'") == []
    assert (await job_row(app.db, stays))["poison_message_id"] is not None


async def test_poison_message_when_an_operator_puts_plain_json_back_then_retried(app: App, mailroom: Mailroom) -> None:
    job_id, letter = await poisoned(app, mailroom)
    await mailroom.queue(f"{mailroom.tickets}-poison").send_message(json.dumps(letter))
    await app.sweep.run_pass()
    row = await job_row(app.db, job_id)
    assert (row["state"], row["attempts"], row["delivery"]) == ("queued", 0, letter["delivery"] + 1)
