"""A06, A14, A15, A18, A19: what the reports tell beyond the tests that are kept with their subject."""

from __future__ import annotations

import base64
import json

import pytest

from shared.queues.poison import Poison
from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation
from tests.front import Front
from tests.stage import Mailroom, accept, calls, finish, job_row, saved, until

JOB = {"workspace_id": "team_42", "task": "Report"}
SHORT = pytest.mark.settings(JOB_LEASE_SECONDS="0.6")


async def test_a06_key_when_the_job_is_written_in_another_way_then_a_replay(app: App, front: Front) -> None:
    key = {"Idempotency-Key": "report-1"}
    first = await front.post("/v1/jobs", JOB | {"input": {}, "timeout_seconds": 600}, key)
    assert first.status == 202
    for body in (
        '{"timeout_seconds":600,"task":"\\u0052eport","workspace_id":"team_42"}',
        ' {"workspace_id": "team_42",\n "task": " Report ", "input": {}, "require_approval": false} ',
        '{"task": "Report", "workspace_id": "team_42", "timeout_seconds": 600.0}',
    ):
        again = await front.send("POST", "/v1/jobs", body.encode(), {**key, "Content-Type": "application/json"})
        assert (again.status, again.json()) == (202, first.json())
    assert (await front.post("/v1/jobs", JOB | {"timeout_seconds": 601}, key)).error["code"] == "idempotency_key_reused"
    assert (await front.post("/v1/jobs", JOB | {"timeout_seconds": 600.5}, key)).fields == {"timeout_seconds"}
    assert (await saved(app.db))["jobs"] == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"task": "a\0b"},
        {"input": {"a\0b": 1}},
        {"input": {"\ud800": 1}},
        {"input": {"from": "a\0b"}},
        {"input": {"a": {"b": ["\0"]}}},
        {"webhook_url": "https://example.org/\0"},
        {"webhook_url": "https://example.org/\ud800"},
    ],
)
async def test_a14_job_when_nul_or_half_a_character_is_anywhere_in_it_then_refused_by_name(
    app: App, front: Front, changes: dict[str, object]
) -> None:
    answer = await front.post("/v1/jobs", JOB | changes)
    assert (answer.status, answer.error["code"]) == (422, "validation_error"), answer
    [name] = changes
    assert all(field.split(".")[0] == name for field in answer.fields)
    assert (await saved(app.db))["jobs"] == 0


async def test_a14_text_when_it_only_looks_like_an_escape_then_kept_letter_by_letter(app: App, front: Front) -> None:
    text = r"\u0000 and \\u0000"
    ticket = (await front.post("/v1/tickets", {"customer_id": "C-0022", "subject": text, "body": text})).json()
    shown = (await front.get(f"/v1/tickets/{ticket['ticket_id']}")).json()
    assert (shown["subject"], shown["body"]) == (text, text)


@SHORT
async def test_a15_message_of_a_waiting_job_when_it_is_in_poison_then_the_job_goes_on_by_itself(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    job_id = await accept(app)
    await app.relay.run_pass(stay_s=0)
    [message] = await mailroom.take(mailroom.tickets)
    poison = mailroom.queue(f"{mailroom.tickets}-poison")
    await poison.create_queue()
    await poison.send_message(message.content)
    await app.db.execute("UPDATE jobs SET announced_at = now() - interval '31 seconds'")

    await app.sweep.run_pass()
    await finish(app, mailroom, worker)

    assert (await job_row(app.db, job_id))["state"] == "succeeded"
    assert calls(provider)["classify"] == 1
    assert (await poison.get_queue_properties()).approximate_message_count == 0


@SHORT
async def test_a15_junk_when_it_is_in_poison_then_it_stays_and_touches_nobody(app: App, mailroom: Mailroom) -> None:
    job_id = await accept(app)
    before = await job_row(app.db, job_id)
    poison = mailroom.queue(f"{mailroom.tickets}-poison")
    await poison.create_queue()
    junk = ["", "{", "[1, 2]", '"text"', '{"job_id": "1"}', "plain", "\N{PILE OF POO}"]
    for text in junk:
        await poison.send_message(base64.b64encode(text.encode()).decode())
        await poison.send_message(f"{text} ")
    await Poison(app.db, app.queues, {"tickets": mailroom.tickets}, hide_s=1).run_pass("tickets")
    assert (await poison.get_queue_properties()).approximate_message_count == 2 * len(junk)
    assert await job_row(app.db, job_id) == before


@SHORT
async def test_a18_killed_job_when_its_worker_is_started_again_then_it_runs_again_without_its_predecessor(
    app: App, mailroom: Mailroom, worker: Worker
) -> None:
    job_id = await accept(app)
    await app.relay.run_pass(stay_s=0)
    [text] = await mailroom.take_texts(mailroom.tickets)
    named = json.loads(text)
    # Killed in the middle: nobody will ever beat for this claim.
    await app.db.execute(
        "UPDATE jobs SET state = 'running', run = 1, attempts = 1, announced_at = NULL, started_at = now(),"
        " run_started_at = now(), claim_id = gen_random_uuid(), locked_until = now() + interval '0.6 seconds'"
    )
    await app.db.execute("INSERT INTO job_runs (job_id, run, attempt) VALUES (1, 1, 1)")
    await worker.work(text)
    assert (await job_row(app.db, job_id))["state"] == "running", "its message alone raises nobody"

    async def is_back() -> bool:
        await app.sweep.run_pass()
        return bool((await job_row(app.db, job_id))["delivery"] > named["delivery"])

    await until(is_back, "the sweep finds it", within_s=10)
    await finish(app, mailroom, worker)
    row = await job_row(app.db, job_id)
    assert (row["state"], row["attempts"], row["run"]) == ("succeeded", 2, 2)


async def test_a19_cancel_when_in_every_moment_of_a_ticket_then_one_end_and_nothing_after_it(
    app: App, front: Front, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    before_relay, after_relay, done = [await accept(app) for _ in range(3)]
    cancelled = await front.post(f"/v1/jobs/{before_relay}/cancel")
    assert (cancelled.status, cancelled.json()["state"]) == (200, "cancelled")
    await app.relay.run_pass(stay_s=0)
    texts = sorted(await mailroom.take_texts(mailroom.tickets))
    assert [json.loads(text)["job_id"] for text in texts] == [after_relay, done]
    assert (await front.post(f"/v1/jobs/{after_relay}/cancel")).status == 200
    for text in texts:
        await worker.work(text)

    for job_id in (before_relay, after_relay, done):
        answer = await front.post(f"/v1/jobs/{job_id}/cancel")
        assert (answer.status, answer.error["code"]) == (409, "conflict")
    assert (await front.post("/v1/jobs/999/cancel")).status == 404
    rows = [await job_row(app.db, job_id) for job_id in (before_relay, after_relay, done)]
    assert [(row["state"], row["result"] is None, row["run"]) for row in rows] == [
        ("cancelled", True, 0),
        ("cancelled", True, 0),
        ("succeeded", False, 1),
    ]
    assert provider.counters.snapshot()["total"] == 3
    assert await app.db.fetch_dicts("SELECT job_id FROM outbox") == []
