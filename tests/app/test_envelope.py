"""What every answer carries, seen through the triggers: ids, timings, times; and what a request leaves on its job."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from datetime import datetime

import pytest

from shared.db import Database
from shared.wiring import App
from shared.worker import Worker
from tests.db.arrows import STATES, reach
from tests.front import Front
from tests.stage import Mailroom, accept, finish, job_row

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
NEW = {"customer_id": "C-0022", "subject": "Charged twice"}

JOB_KEYS = {
    *("job_id", "kind", "ticket_id", "actor", "state", "attempts", "max_attempts", "progress", "steps"),
    *("created_at", "started_at", "finished_at", "run_after", "cancel_requested", "last_error", "history"),
    *("discarded_by", "discarded_at", "result"),
}
TICKET_KEYS = {
    *("ticket_id", "customer_id", "workspace_id", "subject", "body", "channel", "created_at"),
    *("job_id", "ai_state", "team", "priority", "draft_reply"),
}
QUEUE_KEYS = {
    *("queued", "ready", "running", "waiting_for_approval", "dead_letter", "failed", "finished_last_minute"),
    *("oldest_queued_seconds", "outbox_pending", "outbox_oldest_seconds", "provider", "kinds"),
}


def times(value: object) -> Iterator[tuple[str, object]]:
    """Every member of an answer whose name says that it is a time."""
    match value:
        case dict():
            for key, inner in value.items():
                if key.endswith(("_at", "_until")) or key in ("at", "run_after"):
                    yield key, inner
                yield from times(inner)
        case list():
            for inner in value:
                yield from times(inner)


async def test_answers_when_jobs_are_in_every_state_then_times_are_utc_with_z(
    app: App, front: Front, mailroom: Mailroom, worker: Worker
) -> None:
    await accept(app)
    await finish(app, mailroom, worker)
    ids = [(await reach(app.db, state))["job_id"] for state in STATES]
    paths = ["/v1/tickets", "/v1/jobs", "/v1/queue", "/v1/tickets/T-500001", *(f"/v1/jobs/{job_id}" for job_id in ids)]
    for path in [*paths, "/v1/jobs/1"]:
        answer = await front.get(path)
        assert answer.status == 200, answer
        for name, at in times(answer.json()):
            if at is not None:
                assert isinstance(at, str), (path, name)
                assert TIME.fullmatch(at), (path, name, at)
                assert datetime.fromisoformat(at).year >= 2020


async def test_shapes_then_the_contracts_members_are_there(app: App, front: Front) -> None:
    await accept(app)
    assert set((await front.get("/v1/jobs/1")).json()) >= JOB_KEYS
    assert set((await front.get("/v1/tickets/T-500001")).json()) == TICKET_KEYS
    queue = (await front.get("/v1/queue")).json()
    assert set(queue) == QUEUE_KEYS
    assert set(queue["kinds"]["ticket"]) == {"queued", "ready", "running", "oldest_queued_seconds"}
    assert set(queue["provider"]) == {"chat_rpm", "calls_available", "paused_until", "reason", "breakers"}
    assert {name: breaker["state"] for name, breaker in queue["provider"]["breakers"].items()} == {
        "chat": "closed",
        "embeddings": "closed",
    }


async def test_request_when_it_names_itself_then_its_job_and_its_message_know_it(
    app: App, front: Front, mailroom: Mailroom
) -> None:
    answer = await front.post("/v1/tickets", NEW, {"X-Request-Id": "req.1", "traceparent": TRACE})
    await app.kick.settled()
    row = await job_row(app.db, answer.json()["job_id"])
    assert (row["request_id"], row["traceparent"], answer.headers["x-request-id"]) == ("req.1", TRACE, "req.1")
    await app.relay.run_pass(stay_s=0)
    [message] = await mailroom.take(mailroom.tickets)
    assert json.loads(base64.b64decode(message.content))["traceparent"] == TRACE


async def test_request_when_it_has_no_name_or_an_odd_one_then_the_job_knows_the_one_made_for_it(
    app: App, front: Front
) -> None:
    answer = await front.post("/v1/tickets", NEW, {"X-Request-Id": "a b", "traceparent": "x" * 70_000})
    row = await job_row(app.db, answer.json()["job_id"])
    assert (row["request_id"], row["traceparent"]) == (answer.headers["x-request-id"], None)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/jobs/1", 200),
        ("GET", "/v1/jobs/99", 404),
        ("GET", "/v1/jobs?limit=0", 422),
        ("GET", "/v1/queue", 200),
        ("GET", "/nowhere", 404),
        ("GET", "/v1/health/live", 200),
        ("POST", "/v1/jobs/1/cancel", 200),
        ("POST", "/v1/jobs/1/retry", 409),
        ("POST", "/v1/tickets", 400),
    ],
)
async def test_answer_then_it_tells_its_timings(app: App, front: Front, method: str, path: str, status: int) -> None:
    await accept(app)
    answer = await front.send(method, path, b"", {})
    assert answer.status == status, answer
    timings = dict(re.findall(r"(\w+);dur=([0-9.]+)", answer.headers["server-timing"]))
    assert set(timings) == {"db", "total"} | ({"rate_limit"} if method == "POST" else set())
    assert float(timings["db"]) <= float(timings["total"])
    assert answer.headers["content-type"].startswith("application/json")


async def test_job_when_it_waits_for_its_time_then_the_caller_is_told_when_to_come_back(
    app: App, front: Front, db: Database
) -> None:
    for wait, expected in (("0 s", 1), ("-5 s", 1), ("7.5 s", 8), ("1 hour", 30)):
        await db.execute("DELETE FROM jobs")
        job_id = await accept(app)
        await app.db.execute("UPDATE jobs SET run_after = clock_timestamp() + %(wait)s::interval", {"wait": wait})
        told = int((await front.get(f"/v1/jobs/{job_id}")).headers["retry-after"])
        assert expected - 1 <= told <= expected
        assert told >= 1


async def test_health_when_all_is_well_then_ready(front: Front) -> None:
    answer = await front.get("/v1/health/ready")
    assert (answer.status, answer.json()) == (
        200,
        {"ready": True, "checks": {"database": "ok", "queue": "ok", "provider": "ok"}},
    )
    assert (await front.get("/v1/health/live")).status == 200
