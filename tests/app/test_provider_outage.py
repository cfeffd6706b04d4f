"""The provider is away, or set up wrongly: a few calls, no dead letter, and everybody can see why nothing moves."""

from __future__ import annotations

from typing import Any

import pytest

from shared.db import Database
from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation
from simulator.provider.weather import Turn, Weather
from tests.front import Front
from tests.stage import Mailroom, accept, finish, job_row, work_once

NORMAL = Weather(rpm=0, tpm=0, latency_factor=0)
OUTAGE = Weather(rpm=0, tpm=0, latency_factor=0, mode="outage")


async def let_it_try_again(db: Database) -> None:
    """Let the breakers' cool-down pass."""
    await db.execute("UPDATE provider_breakers SET retry_at = now() WHERE is_open")


async def shown(front: Front) -> dict[str, Any]:
    answer = await front.get("/v1/queue")
    provider: dict[str, Any] = answer.json()["provider"]
    return provider


async def test_outage_when_it_lasts_then_three_calls_and_one_a_trial_and_every_job_is_done_after_it(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    jobs = [await accept(app) for _ in range(8)]
    provider.change(OUTAGE)
    await work_once(app, mailroom, worker)
    for _ in range(6):
        await let_it_try_again(app.db)
        await work_once(app, mailroom, worker)
        await work_once(app, mailroom, worker)

    assert provider.counters.snapshot()["total"] == 3 + 6
    rows = [await job_row(app.db, job_id) for job_id in jobs]
    assert {row["state"] for row in rows} == {"queued"}
    assert sum(row["attempts"] for row in rows) == 3, "only calls from before the breaker opened are charged"

    provider.change(NORMAL)
    await let_it_try_again(app.db)
    await finish(app, mailroom, worker)
    assert {(await job_row(app.db, job_id))["state"] for job_id in jobs} == {"succeeded"}


@pytest.mark.parametrize(
    "jobs", [pytest.param(count, marks=pytest.mark.settings(JOB_MAX_ATTEMPTS=str(count + 1))) for count in (1, 2, 3)]
)
async def test_outage_when_jobs_have_few_attempts_then_none_is_a_dead_letter(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation, jobs: int
) -> None:
    accepted = [await accept(app) for _ in range(jobs)]
    provider.change(OUTAGE)
    for _ in range(7):
        await work_once(app, mailroom, worker)
        await let_it_try_again(app.db)
    provider.change(NORMAL)
    await finish(app, mailroom, worker)
    assert {(await job_row(app.db, job_id))["state"] for job_id in accepted} == {"succeeded"}


@pytest.mark.parametrize(
    "turn", [Turn(mode="garbled", variant="wrong_key"), Turn(mode="garbled", variant="insufficient_quota")]
)
async def test_set_up_when_wrong_then_everybody_sees_it_and_one_trial_a_minute_finds_it_right_again(
    app: App, front: Front, mailroom: Mailroom, worker: Worker, provider: Simulation, turn: Turn
) -> None:
    provider.play([turn.model_copy(update={"times": 2})])
    jobs = [await accept(app) for _ in range(3)]
    await work_once(app, mailroom, worker)

    state = await shown(front)
    assert state["breakers"]["chat"]["state"] == "open"
    assert state["breakers"]["chat"]["retry_at"] is not None
    assert state["reason"].startswith("provider_config: ")
    ready = await front.get("/v1/health/ready")
    assert (ready.status, ready.json()["ready"]) == (200, True)
    assert ready.json()["checks"]["provider"] == state["reason"]

    for calls in (2, 3):
        await work_once(app, mailroom, worker)
        assert provider.counters.snapshot()["total"] == calls - 1, "no call before its minute is over"
        await let_it_try_again(app.db)
        assert (await shown(front))["breakers"]["chat"]["state"] == "half_open"
        await work_once(app, mailroom, worker)
    await finish(app, mailroom, worker)

    rows = [await job_row(app.db, job_id) for job_id in jobs]
    assert [(row["state"], row["attempts"]) for row in rows] == [("succeeded", 1)] * 3
    assert (await shown(front))["reason"] is None
    assert (await front.get("/v1/health/ready")).json()["checks"]["provider"] == "ok"


@pytest.mark.settings(PROVIDER_CHAT_RPM="60", PROVIDER_CHAT_BURST="7", PROVIDER_CHAT_TPM="0")
async def test_quota_when_paused_then_no_call_is_available_until_then(
    app: App, front: Front, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    assert await shown(front) == {
        "chat_rpm": 60,
        "calls_available": 7,
        "paused_until": None,
        "reason": None,
        "breakers": {name: {"state": "closed", "retry_at": None} for name in ("chat", "embeddings")},
    }
    provider.play([Turn(mode="refuse", retry_after="30")])
    await accept(app)
    await work_once(app, mailroom, worker)
    state = await shown(front)
    assert (state["calls_available"], state["breakers"]["chat"]["state"]) == (0, "closed")
    assert state["paused_until"] is not None
    assert state["reason"]


async def test_reason_when_both_endpoints_have_the_same_then_said_once(app: App, front: Front) -> None:
    await app.db.execute(
        "UPDATE provider_breakers SET is_open = true, opened_at = now(), retry_at = now() + interval '1 minute',"
        " reason = 'provider_unavailable: It said no.'"
    )
    state = await shown(front)
    assert {breaker["state"] for breaker in state["breakers"].values()} == {"open"}
    assert state["reason"] == "provider_unavailable: It said no."
