"""Webhooks: events made with the arrows, delivered through a queue of their own, signed, retried, dead-lettered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from standardwebhooks import Webhook

from shared.wiring import App
from tests.front import Front
from tests.receiver import Receiver, status
from tests.stage import Mailroom

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
pytestmark = pytest.mark.settings(WEBHOOK_SECRET=SECRET, WEBHOOK_ALLOW_PRIVATE="true")


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver(status("204 No Content")) as made:
        yield made


async def job_with_webhook(front: Front, url: str) -> int:
    answer = await front.post("/v1/jobs", {"task": "Weekly", "workspace_id": "team_42", "webhook_url": url})
    assert answer.status == 202, answer.body
    job_id: int = answer.json()["job_id"]
    return job_id


async def deliver(app: App, mailroom: Mailroom) -> list[str]:
    """One pass of the relay, and all webhooks that it announced; their messages."""
    await app.kick.settled()
    await app.relay.run_pass(stay_s=0)
    texts = await mailroom.take_texts(mailroom.webhooks)
    await asyncio.gather(*(app.worker.work(text) for text in texts))
    return texts


async def shown(front: Front, job_id: int) -> dict[str, Any]:
    job: dict[str, Any] = (await front.get(f"/v1/jobs/{job_id}")).json()
    return job


async def test_job_when_it_ends_then_its_caller_is_told_with_a_signature_over_the_exact_bytes(
    front: Front, app: App, mailroom: Mailroom, receiver: Receiver
) -> None:
    job_id = await job_with_webhook(front, f"http://127.0.0.1:{receiver.port}/hook")
    assert (await shown(front, job_id))["webhook"] is None
    await front.post(f"/v1/jobs/{job_id}/cancel")
    [text] = await deliver(app, mailroom)
    assert set(json.loads(text)) == {"event_id", "delivery"}
    [call] = receiver.calls
    event = Webhook(SECRET).verify(call.body, call.headers)
    assert event["type"] == "job.cancelled"
    assert event["data"]["job_id"] == job_id
    assert (await shown(front, job_id))["webhook"] == {"state": "delivered", "attempts": 1, "last_status": 204}
    assert [item["job_id"] for item in (await front.get("/v1/jobs")).json()["items"]] == [job_id]


async def test_webhook_when_the_receiver_fails_then_retried_with_the_same_id_and_bytes(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    async with Receiver(status("503 Service Unavailable")) as receiver:
        job_id = await job_with_webhook(front, f"http://127.0.0.1:{receiver.port}/hook")
        await front.post(f"/v1/jobs/{job_id}/cancel")
        for attempt in (1, 2):
            await app.db.execute("UPDATE jobs SET run_after = now() WHERE kind = 'webhook'")
            await app.db.execute("UPDATE outbox SET due_at = now()")
            await deliver(app, mailroom)
            assert (await shown(front, job_id))["webhook"] == {
                "state": "pending",
                "attempts": attempt,
                "last_status": 503,
            }
        first, second = receiver.calls
        assert first.body == second.body
        assert first.headers["webhook-id"] == second.headers["webhook-id"]

        await app.db.execute("UPDATE job_runs SET started_at = now() - interval '25 hours'")
        await app.db.execute("UPDATE outbox SET due_at = now()")
        await deliver(app, mailroom)
        assert (await shown(front, job_id))["webhook"]["state"] == "dead_letter"


async def test_webhooks_when_one_host_is_slow_then_at_most_two_are_under_way_and_others_pass(
    front: Front, app: App, mailroom: Mailroom, receiver: Receiver
) -> None:
    for _ in range(5):
        job_id = await job_with_webhook(front, "http://127.0.0.1:9/slow")
        await front.post(f"/v1/jobs/{job_id}/cancel")
    job_id = await job_with_webhook(front, f"http://localhost:{receiver.port}/quick")
    await front.post(f"/v1/jobs/{job_id}/cancel")
    await app.kick.settled()
    await app.relay.run_pass(stay_s=0)
    texts = await mailroom.take_texts(mailroom.webhooks)
    rows = await app.db.fetch_dicts("SELECT job_id, share FROM jobs WHERE kind = 'webhook'")
    shares = {row["job_id"]: row["share"] for row in rows}
    announced = [shares[json.loads(text)["event_id"]] for text in texts]
    assert sorted(announced) == ["127.0.0.1:9", "127.0.0.1:9", f"localhost:{receiver.port}"]


@pytest.mark.settings(WEBHOOK_SECRET=SECRET, WEBHOOK_ALLOW_PRIVATE="false")
@pytest.mark.parametrize("url", ["http://example.com/", "https://10.0.0.1/", "https://[::1]/", "ftp://x", "nonsense"])
async def test_webhook_url_when_it_may_not_be_called_then_422(front: Front, url: str) -> None:
    answer = await front.post("/v1/jobs", {"task": "Weekly", "workspace_id": "team_42", "webhook_url": url})
    assert (answer.status, answer.fields) == (422, {"webhook_url"})
