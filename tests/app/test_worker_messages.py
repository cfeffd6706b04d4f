"""Messages that are doubled, late, strange or no message at all; and a step that breaks."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace
from typing import Any

import azure.functions as func
import pytest

from shared.kinds.kind import Desk
from shared.log import Unexpected
from shared.queues.messages import UnreadableMessage
from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation
from tests.db.arrows import STATES, everything, reach
from tests.front import Front, fire
from tests.kinds import kind_of
from tests.stage import Mailroom, accept, announce, finish, job_row, runs_of

UNREADABLE = (
    "",
    " ",
    "hello",
    "null",
    "[]",
    "7",
    "{}",
    '{"job_id": "1"}',
    '[{"job_id": 1, "delivery": 1}]',
    "{" * 9_999,
)
DROPPED: list[dict[str, Any]] = [
    {"job_id": 2, "delivery": 1},
    {"job_id": 0, "delivery": 1},
    {"job_id": -1, "delivery": 1},
    {"job_id": 2**63, "delivery": 1},
    {"job_id": 10**30, "delivery": 1},
    {"job_id": 1},
    {"job_id": 1, "delivery": 0},
    {"job_id": 1, "delivery": 2},
    {"job_id": 1, "delivery": -1},
    {"job_id": 1, "delivery": 99},
    {"job_id": 1, "delivery": 2**31},
]


async def test_message_when_it_names_no_job_then_raised_for_the_host_and_nothing_changes(
    app: App, worker: Worker
) -> None:
    await accept(app)
    before = await everything(app.db)
    for text in (*UNREADABLE, *(base64.b64encode(text.encode()).decode() for text in UNREADABLE)):
        with pytest.raises(UnreadableMessage):
            await worker.work(text)
    assert await everything(app.db) == before


async def test_message_when_its_numbers_are_not_the_rows_then_dropped_and_logged(
    app: App, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "larkfield.worker")
    await accept(app)
    before = await everything(app.db)
    for message in DROPPED:
        caplog.clear()
        await worker.work(json.dumps(message))
        assert len(caplog.records) == 1, message
        assert "dropped" in caplog.text, message
    assert await everything(app.db) == before


@pytest.mark.parametrize("state", [state for state in STATES if state not in ("queued", "dead_letter")])
async def test_message_when_its_job_does_not_wait_then_dropped_though_the_number_fits(
    app: App, worker: Worker, state: str
) -> None:
    row = await reach(app.db, state)
    before = await everything(app.db)
    await worker.work(json.dumps({"job_id": row["job_id"], "delivery": row["delivery"]}))
    assert await everything(app.db) == before


async def test_message_when_encoded_once_more_or_with_keys_of_others_then_worked(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    jobs = [await accept(app) for _ in range(2)]
    first, second = sorted(await announce(app, mailroom))
    await worker.work(base64.b64encode(first.encode()).decode())
    await worker.work(json.dumps(json.loads(second) | {"actor": "customer:C-0001", "input": {"subject": "other"}}))
    for job_id in jobs:
        row = await job_row(app.db, job_id)
        assert (row["state"], row["actor"]) == ("succeeded", "customer:C-0022")


async def test_message_when_it_comes_five_times_at_once_and_again_then_one_run_and_one_set_of_calls(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    job_id = await accept(app)
    [text] = await announce(app, mailroom)

    await asyncio.gather(*(worker.work(text) for _ in range(5)))
    await worker.work(text)

    assert await runs_of(app.db, job_id) == [(1, 1, "succeeded")]
    snapshot = provider.counters.snapshot()
    assert {task: sum(outcomes.values()) for task, outcomes in snapshot["calls"].items()} == {
        "classify": 1,
        "draft_reply": 1,
        "embed": 1,
    }
    assert set(snapshot["marks"]) == {f"job-{job_id}/run-1/{step}" for step in ("classify", "draft_reply", "embed")}


async def test_message_when_of_a_cancelled_job_then_no_call_is_made(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    job_id = await accept(app)
    [text] = await announce(app, mailroom)
    await app.decisions.cancel(job_id)
    await worker.work(text)
    assert (await job_row(app.db, job_id))["state"] == "cancelled"
    assert provider.counters.snapshot()["total"] == 0


async def test_message_when_of_before_a_retry_then_dropped(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    row = await reach(app.db, "dead_letter")
    await app.decisions.retry(row["job_id"])
    before = await everything(app.db)
    for delivery in range(row["delivery"] + 1):
        await worker.work(json.dumps({"job_id": row["job_id"], "delivery": delivery}))
    assert await everything(app.db) == before
    await finish(app, mailroom, worker)
    assert (await job_row(app.db, row["job_id"]))["state"] == "succeeded"


async def test_message_when_not_utf8_then_the_function_raises(front: Front) -> None:
    with pytest.raises(Unexpected, match="UnicodeDecodeError"):
        await fire("work_ticket", func.QueueMessage(body=b'{"job_id": 1\xff}'))


@pytest.mark.settings(JOB_MAX_ATTEMPTS="2")
async def test_step_when_it_breaks_unexpectedly_then_the_attempt_counts_and_the_host_is_told(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    async def broken(desk: Desk) -> None:
        raise ZeroDivisionError("secret of the ticket")

    job_id = await accept(app)
    for attempt, state in ((1, "queued"), (2, "dead_letter")):
        await app.db.execute("UPDATE outbox SET due_at = now()")
        [text] = await announce(app, mailroom)
        with pytest.raises(ZeroDivisionError):
            await replace(worker, kinds=kind_of(broken)).work(text)
        job, _ = await app.status.job(job_id)
        assert (job.state, job.attempts) == (state, attempt)
        assert job.last_error is not None
        assert job.last_error.code == "internal_error"
        assert "ZeroDivisionError" in job.last_error.message
        assert "secret" not in job.last_error.message
    assert await runs_of(app.db, job_id) == [(1, 1, "retry"), (2, 2, "dead_letter")]


async def test_job_when_of_a_kind_this_release_does_not_know_then_it_breaks_like_a_step(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    job_id = await accept(app)
    [text] = await announce(app, mailroom)
    with pytest.raises(KeyError):
        await replace(worker, kinds={}).work(text)
    row = await job_row(app.db, job_id)
    assert (row["state"], row["attempts"], row["last_error"]["code"]) == ("queued", 1, "internal_error")
