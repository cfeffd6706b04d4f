"""The way of one ticket through the triggers, on real Postgres and real Azurite."""

from __future__ import annotations

import azure.functions as func
from azure.functions.timer import TimerRequest

from shared.wiring import App
from tests.front import Front, fire
from tests.stage import Mailroom

NEW = {"customer_id": "C-0022", "subject": "  Charged twice ", "body": "Two payments for one order."}


async def test_ticket_when_accepted_relayed_and_worked_then_has_its_result(
    app: App, front: Front, mailroom: Mailroom
) -> None:
    accepted = await front.post("/v1/tickets", NEW, {"X-Request-Id": "way-1"})
    assert accepted.status == 202, accepted
    answer = accepted.json()
    assert {key: answer[key] for key in ("ticket_id", "state", "status_url", "queued_ahead")} == {
        "ticket_id": "T-500001",
        "state": "queued",
        "status_url": accepted.headers["location"],
        "queued_ahead": 0,
    }
    waiting = await front.get(accepted.headers["location"])
    assert waiting.json()["state"] == "queued"
    assert int(waiting.headers["retry-after"]) >= 1

    await fire("relay_outbox", TimerRequest())
    await app.kick.settled()
    [message] = await mailroom.take_texts(mailroom.tickets)
    await fire("work_ticket", func.QueueMessage(body=message))

    done = await front.get(accepted.headers["location"])
    job = done.json()
    assert "retry-after" not in done.headers
    assert (job["state"], job["attempts"], job["progress"], job["actor"]) == ("succeeded", 1, 100, "customer:C-0022")
    assert job["result"]["team"] == "billing"
    assert set(job["result"]) == {"team", "priority", "draft_reply", "embedding_version"}
    assert [(step["name"], step["state"]) for step in job["steps"]] == [
        ("classify", "succeeded"),
        ("draft_reply", "succeeded"),
        ("embed", "succeeded"),
    ]
    assert [(run["run"], run["attempt"], run["outcome"]) for run in job["history"]] == [(1, 1, "succeeded")]
    ticket = (await front.get("/v1/tickets/T-500001")).json()
    assert (ticket["subject"], ticket["channel"], ticket["job_id"]) == ("Charged twice", "web_form", answer["job_id"])
    assert (ticket["ai_state"], ticket["team"]) == ("succeeded", "billing")
    assert (ticket["priority"], ticket["draft_reply"]) == (job["result"]["priority"], job["result"]["draft_reply"])
    assert await app.db.fetch_dict("SELECT vector_dims(embedding) AS size FROM tickets") == {"size": 384}
    assert await app.db.fetch_dict("SELECT count(*) AS left FROM outbox") == {"left": 0}
    assert await mailroom.take_texts(mailroom.tickets) == []
