"""Postgres cannot be reached, or hangs: every call says so within three seconds, in the envelope."""

from __future__ import annotations

import asyncio
import time

import pytest

from shared.wiring import App
from simulator.stack.ports import LOOPBACK
from tests.front import Answer, Front
from tests.stage import accept, until
from tests.tcp_wire import Wire

NOBODY = f"postgresql://postgres@{LOOPBACK}:1/postgres"
LIMIT_S = 3.0 + 1.5  # what is promised, and what a busy machine may add

CALLS: list[tuple[str, str, dict[str, str] | None]] = [
    ("POST", "/v1/tickets", {"customer_id": "C-0022", "subject": "x"}),
    ("PUT", "/v1/customers/C-0022", {"name": "Ada", "workspace_id": "team_42"}),
    ("GET", "/v1/tickets", None),
    ("GET", "/v1/tickets/T-500001", None),
    ("GET", "/v1/jobs", None),
    ("GET", "/v1/jobs/1", None),
    ("POST", "/v1/jobs/1/cancel", None),
    ("POST", "/v1/jobs/1/retry", None),
    ("POST", "/v1/jobs/1/discard", {"discarded_by": "Ada"}),
    ("POST", "/v1/dead-letters/retry", None),
    ("GET", "/v1/queue", None),
]


async def call(front: Front, method: str, path: str, body: dict[str, str] | None) -> tuple[Answer, float]:
    """The answer, and how long it took in seconds."""
    began = time.monotonic()
    if method == "GET":
        answer = await front.get(path)
    elif method == "PUT":
        answer = await front.put(path, body)
    else:
        answer = await front.post(path, body)
    return answer, time.monotonic() - began


async def check_all(front: Front) -> None:
    """Every call at once gets its 503 in time; health tells the truth."""
    ready_call = asyncio.create_task(call(front, "GET", "/v1/health/ready", None))
    answers = await asyncio.gather(*(call(front, *one) for one in CALLS))
    for one, (answer, took_s) in zip(CALLS, answers, strict=True):
        assert (answer.status, answer.error["code"]) == (503, "database_unavailable"), (one, answer)
        assert int(answer.headers["retry-after"]) >= 1
        assert took_s < LIMIT_S, one
        for word in (b"psycopg", b"connection", b"timeout", b"127.0.0.1"):
            assert word not in answer.body, one
    ready, took_s = await ready_call
    assert (ready.status, ready.json()["ready"]) == (503, False)
    assert ready.json()["checks"]["database"] != "ok"
    assert took_s < LIMIT_S
    assert (await front.get("/v1/health/live")).status == 200


@pytest.mark.settings(DATABASE_URL=NOBODY)
async def test_calls_when_postgres_is_down_then_503_in_time(front: Front) -> None:
    await check_all(front)


@pytest.mark.settings(DATABASE_URL=NOBODY)
async def test_bad_input_when_postgres_is_down_then_it_is_still_the_callers_fault(front: Front) -> None:
    assert (await front.post("/v1/tickets", {})).status == 422
    assert (await front.get("/v1/jobs/abc")).status == 404
    assert (await front.get("/v1/jobs?limit=0")).status == 422


async def test_calls_when_postgres_hangs_then_503_in_time_and_all_is_well_after_it(
    app: App, front: Front, wire: Wire
) -> None:
    await accept(app)
    wire.freeze()
    await check_all(front)
    wire.mend()

    async def works_again() -> bool:
        return (await front.get("/v1/jobs/1")).status == 200

    await until(works_again, "the app finds Postgres again")
