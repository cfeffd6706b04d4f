"""Deliveries as jobs: which arrows make one, what operators can do with them, and what never shows."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from shared.wiring import App
from tests.db.arrows import reach, send
from tests.front import Front
from tests.receiver import Receiver, status
from tests.report_orders import ASKED, order, shown
from tests.report_orders import work as work_reports
from tests.stage import Mailroom, hasten, job_row, until

SECRET, PREVIOUS = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
pytestmark = pytest.mark.settings(WEBHOOK_SECRET=SECRET, WEBHOOK_SECRET_PREVIOUS=PREVIOUS, WEBHOOK_ALLOW_PRIVATE="true")

NOWHERE = "http://127.0.0.1:9/hook?key=of-the-caller"
EVENTS = "SELECT job_id, input FROM jobs WHERE kind = 'webhook' ORDER BY job_id"


async def events(app: App) -> list[str]:
    return [row["input"]["type"] for row in await app.db.fetch_dicts(EVENTS)]


async def deliver(app: App, mailroom: Mailroom) -> list[dict[str, Any]]:
    """One round of deliveries, whatever is due when; their messages."""
    await app.kick.settled()
    await hasten(app.db)
    await app.relay.run_pass(stay_s=0)
    texts = await mailroom.take_texts(mailroom.webhooks)
    await asyncio.gather(*(replace(app.worker, kick=lambda: None).work(text) for text in texts))
    return [json.loads(text) for text in texts]


async def dead_letter(front: Front, app: App, mailroom: Mailroom) -> int:
    """A delivery that was given up, with its message on the poison queue; the delivery's job id."""
    job_id = await order(front, webhook_url=NOWHERE)
    await front.post(f"/v1/jobs/{job_id}/cancel")
    await deliver(app, mailroom)
    await app.db.execute("UPDATE job_runs SET started_at = now() - interval '25 hours'")
    await app.db.execute("UPDATE outbox SET due_at = now()")
    await deliver(app, mailroom)
    await app.relay.run_pass(stay_s=0)
    [row] = await app.db.fetch_dicts("SELECT job_id FROM jobs WHERE kind = 'webhook' AND state = 'dead_letter'")
    return int(row["job_id"])


@pytest.mark.parametrize(
    ("arrow", "before", "event"),
    [
        ("succeed", "running", "job.succeeded"),
        ("fail", "running", "job.failed"),
        ("dead_letter", "running", "job.dead_letter"),
        ("cancel", "queued", "job.cancelled"),
        ("undeliverable", "queued", "job.failed"),
        ("retry_later", "running", None),
        ("give_back", "running", None),
        ("save_step", "running", None),
        ("extend", "running", None),
        ("claim", "queued", None),
        ("retry", "failed", None),
    ],
)
@pytest.mark.parametrize("url", [NOWHERE, None])
async def test_arrow_when_taken_then_its_event_and_only_for_who_asked(
    app: App, arrow: str, before: str, event: str | None, url: str | None
) -> None:
    row = await reach(app.db, before)
    await app.db.execute("UPDATE jobs SET webhook_url = %(url)s", {"url": url})
    assert await send(app.db, arrow, row)
    assert await events(app) == ([event] if event and url else [])


async def test_report_when_approved_then_two_events_in_their_order_with_what_they_say(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    async with Receiver(status("200 OK")) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/hook"
        job_id = await order(front, require_approval=True, webhook_url=url)
        await work_reports(app, mailroom)
        await deliver(app, mailroom)
        assert (await front.post(f"/v1/jobs/{job_id}/approve", {"decided_by": "mei"})).status == 200
        await work_reports(app, mailroom)
        await deliver(app, mailroom)
        said = [json.loads(call.body) for call in receiver.calls]
    job = await shown(front, job_id)
    assert [event["type"] for event in said] == ["job.waiting_for_approval", "job.succeeded"]
    assert {event["data"]["workspace_id"] for event in said} == {"team_42"}
    assert said[1]["data"]["result"] == job["result"]
    assert len({call.headers["webhook-id"] for call in receiver.calls}) == 2
    assert job["webhook"] == {"state": "delivered", "attempts": 1, "last_status": 200}


async def test_delivery_when_given_up_then_mirrored_and_told_of_but_not_among_the_jobs(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    told = await dead_letter(front, app, mailroom)
    [copy] = await mailroom.peek(f"{mailroom.webhooks}-poison")
    assert (copy["job_id"], copy["kind"], copy["error"]["code"]) == (told, "webhook", "undeliverable")
    queue = (await front.get("/v1/queue")).json()
    totals = ("queued", "ready", "running", "waiting_for_approval", "dead_letter", "failed", "finished_last_minute")
    assert [queue[total] for total in totals] == [0, 0, 0, 0, 0, 0, 1], "only the job that was cancelled"
    assert told not in [item["job_id"] for item in (await front.get("/v1/jobs")).json()["items"]]
    of_kind = (await front.get("/v1/jobs?kind=webhook&state=dead_letter")).json()["items"]
    assert [item["job_id"] for item in of_kind] == [told]


async def test_delivery_when_retried_by_a_person_then_sent_again_and_its_message_goes(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    told = await dead_letter(front, app, mailroom)
    async with Receiver(status("200 OK")) as receiver:
        await app.db.execute(
            "UPDATE jobs SET input = jsonb_set(input, '{url}', to_jsonb(%(url)s::text)) WHERE kind = 'webhook'",
            {"url": f"http://127.0.0.1:{receiver.port}/hook"},
        )
        assert (await front.post(f"/v1/jobs/{told}/retry")).status == 200
        await deliver(app, mailroom)
        assert [call.headers["webhook-id"] for call in receiver.calls] == [f"evt_{told}"]
    assert (await job_row(app.db, told))["state"] == "succeeded"
    await _poison_empties(app, mailroom)


async def test_delivery_when_discarded_then_failed_and_its_message_goes(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    told = await dead_letter(front, app, mailroom)
    answer = await front.post(f"/v1/jobs/{told}/discard", {"discarded_by": "ops"})
    assert (answer.status, answer.json()["state"], answer.json()["discarded_by"]) == (200, "failed", "ops")
    await _poison_empties(app, mailroom)


async def test_delivery_when_its_message_is_put_back_by_hand_then_a_retry(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    told = await dead_letter(front, app, mailroom)
    [text] = await mailroom.take_texts(f"{mailroom.webhooks}-poison")
    await app.worker.work(text)
    assert (await job_row(app.db, told))["state"] == "queued"


@pytest.mark.settings(QUEUE_MAX="2")
async def test_deliveries_when_many_wait_then_intake_does_not_count_them(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    for _ in range(4):
        job_id = await order(front, webhook_url=NOWHERE)
        await front.post(f"/v1/jobs/{job_id}/cancel")
    assert len(await events(app)) == 4
    queue = (await front.get("/v1/queue")).json()
    assert (queue["queued"], queue["kinds"]["webhook"]["queued"]) == (0, 4)
    assert [(await front.post("/v1/jobs", ASKED)).status for _ in range(3)] == [202, 202, 503]


@pytest.mark.parametrize("answer", ["500 Internal Server Error", "302 Found", "410 Gone"])
async def test_delivery_when_it_fails_then_neither_logs_nor_answers_show_a_secret(
    front: Front, app: App, mailroom: Mailroom, caplog: pytest.LogCaptureFixture, answer: str
) -> None:
    caplog.set_level(logging.DEBUG)
    async with Receiver(status(answer)) as receiver:
        job_id = await order(front, webhook_url=f"http://127.0.0.1:{receiver.port}/hook?key=of-the-caller")
        await front.post(f"/v1/jobs/{job_id}/cancel")
        [message] = await deliver(app, mailroom)
        assert len(receiver.calls) == 1
    seen = [caplog.text, repr(app.settings), repr(app.worker.courier)]
    for path in ("/v1/jobs", "/v1/jobs?kind=webhook", f"/v1/jobs/{job_id}", f"/v1/jobs/{message['event_id']}"):
        seen.append((await front.get(path)).body.decode())
    for secret in (SECRET, PREVIOUS, SECRET.removeprefix("whsec_"), "of-the-caller"):
        assert not [text for text in seen if secret in text]


async def _poison_empties(app: App, mailroom: Mailroom) -> None:
    async def is_empty() -> bool:
        await app.sweep.run_pass()
        return not await mailroom.peek(f"{mailroom.webhooks}-poison")

    await until(is_empty, "the poison queue is clean", within_s=15)


async def test_delivery_when_retried_long_after_then_it_has_another_day(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    told = await dead_letter(front, app, mailroom)
    assert (await front.post(f"/v1/jobs/{told}/retry")).status == 200
    await deliver(app, mailroom)
    assert (await job_row(app.db, told))["state"] == "queued"
