"""Postgres goes away under a worker: nothing is charged, nothing is lost, nothing is done twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest

from shared.jobs import claim as claims
from shared.kinds.kind import Desk
from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation
from simulator.provider.weather import Turn
from tests.front import Front
from tests.kinds import kind_of
from tests.stage import Mailroom, accept, announce, job_row, runs_of, saved, until
from tests.tcp_wire import Wire

AWAY_S = 0.4


def go_away(wire: Wire) -> None:
    """Postgres is gone, and comes back in a while."""
    wire.cut()
    asyncio.get_running_loop().call_later(AWAY_S, wire.mend)


async def test_message_when_postgres_is_away_then_claimed_as_soon_as_it_is_back(
    app: App, mailroom: Mailroom, worker: Worker, wire: Wire
) -> None:
    job_id = await accept(app)
    [text] = await announce(app, mailroom)
    go_away(wire)
    await worker.work(text)
    assert await runs_of(app.db, job_id) == [(1, 1, "succeeded")]


async def test_run_when_postgres_goes_away_during_a_step_then_its_output_is_saved_when_it_is_back(
    app: App, mailroom: Mailroom, worker: Worker, wire: Wire
) -> None:
    done: list[str] = []

    async def first(desk: Desk) -> str:
        done.append("first")
        go_away(wire)
        return "one"

    async def second(desk: Desk) -> str:
        done.append("second")
        return "two"

    job_id = await accept(app)
    [text] = await announce(app, mailroom)
    await replace(worker, kinds=kind_of(first, second)).work(text)

    row = await job_row(app.db, job_id)
    assert (row["state"], row["attempts"], row["result"]) == ("succeeded", 1, {"step_1": "one", "step_2": "two"})
    assert done == ["first", "second"]
    assert row["ran_s"] < AWAY_S


@pytest.mark.parametrize(
    "question",
    [b"run = run + 1", b"'succeeded', clock_timestamp()", b"state = 'succeeded', result"],
    ids=["claim", "save_step", "succeed"],
)
async def test_answer_when_lost_then_asked_again_and_done_once(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation, wire: Wire, question: bytes
) -> None:
    job_id = await accept(app)
    [text] = await announce(app, mailroom)
    wire.lose_answer_to(question)

    await worker.work(text)

    assert wire.lost == 1
    assert await runs_of(app.db, job_id) == [(1, 1, "succeeded")]
    assert (await app.status.job(job_id))[0].progress == 100
    assert provider.counters.snapshot()["total"] == 3


async def test_answer_when_lost_on_the_way_back_to_the_queue_then_announced_once(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation, wire: Wire
) -> None:
    provider.play([Turn(mode="outage")])
    job_id = await accept(app)
    [text] = await announce(app, mailroom)
    wire.lose_answer_to(b"run_after = clock_timestamp() +")

    await worker.work(text)

    assert wire.lost == 1
    assert await runs_of(app.db, job_id) == [(1, 1, "retry")]
    assert await app.db.fetch_dicts("SELECT purpose, delivery FROM outbox") == [{"purpose": "work", "delivery": 2}]


async def test_ticket_when_the_answer_of_postgres_is_lost_then_503_though_it_may_exist(
    app: App, front: Front, wire: Wire
) -> None:
    await app.db.fetch_dict("SELECT 1 AS one")
    wire.lose_answer_to(b"INSERT INTO tickets")
    answer = await front.post("/v1/tickets", {"customer_id": "C-0022", "subject": "x"})
    assert wire.lost == 1
    assert (answer.status, answer.error["code"]) == (503, "database_unavailable")
    assert (await saved(app.db))["tickets"] == 1


@pytest.mark.settings(JOB_LEASE_SECONDS="0.6")
async def test_run_when_its_lease_is_over_and_postgres_silent_then_no_new_call_and_nothing_written(
    app: App, mailroom: Mailroom, worker: Worker, wire: Wire, database_url: str
) -> None:
    past_the_lease = asyncio.Event()
    done: list[str] = []

    async def stalled(desk: Desk) -> str:
        wire.freeze()
        await past_the_lease.wait()
        return "late"

    async def forbidden(desk: Desk) -> str:
        done.append("forbidden")
        return "never"

    job_id = await accept(app)
    [text] = await announce(app, mailroom)
    work = asyncio.create_task(replace(worker, kinds=kind_of(stalled, forbidden)).work(text))
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as stranger:

        async def lease_is_over() -> bool:
            row = await (await stranger.execute("SELECT locked_until < clock_timestamp() FROM jobs")).fetchone()
            return bool(row and row[0])

        await until(lease_is_over, "the lease runs out")
        await stranger.execute(
            "UPDATE jobs SET state = 'queued', delivery = delivery + 1, claim_id = NULL, run_started_at = NULL,"
            " locked_until = NULL"
        )
    past_the_lease.set()
    wire.mend()
    await work

    assert done == []
    row = await job_row(app.db, job_id)
    assert (row["state"], row["run"], row["result"]) == ("queued", 1, None)
    assert await app.db.fetch_dicts("SELECT 1 AS one FROM job_steps WHERE state = 'succeeded'") == []


@pytest.mark.settings(JOB_LEASE_SECONDS="0.3")
async def test_run_when_it_ended_while_postgres_was_away_then_given_back_by_the_heart(
    app: App, worker: Worker, wire: Wire
) -> None:
    job_id = await accept(app)
    claim = await claims.claim(app.db, job_id, 1, uuid4(), lease_s=30)
    assert claim is not None
    go_away(wire)
    worker.heart.owe(claim)

    async def is_back() -> bool:
        return bool((await job_row(app.db, job_id))["state"] == "queued")

    await until(is_back, "the job is given back")
    assert await runs_of(app.db, job_id) == [(1, 1, "lost")]
    assert (await job_row(app.db, job_id))["attempts"] == 0
