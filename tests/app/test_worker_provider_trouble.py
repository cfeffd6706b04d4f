"""What the provider does to a job: tried again later, or failed at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.errors import Unavailable
from shared.kinds import ticket
from shared.kinds.kind import Desk, Step
from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation
from simulator.provider.weather import Turn
from tests.stage import Mailroom, accept, announce, calls, finish, job_row, runs_of, work_once


async def test_job_when_the_provider_fails_twice_then_retried_with_growing_waits_and_a_history(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "larkfield")
    provider.play([Turn(mode="outage", times=2)])
    job_id = await accept(app)
    for attempt, longest_s in ((1, 2), (2, 4)):
        await work_once(app, mailroom, worker)
        row = await job_row(app.db, job_id)
        assert (row["state"], row["attempts"]) == ("queued", attempt)
        assert row["last_error"]["code"] == "provider_unavailable"
        assert row["last_error"]["attempt"] == attempt
        [past] = await app.db.fetch_dicts("SELECT ended_at FROM job_runs ORDER BY run DESC LIMIT 1")
        wait = row["run_after"] - past["ended_at"]
        assert timedelta() <= wait + timedelta(seconds=0.2) <= timedelta(seconds=longest_s + 0.4)
        assert f"job {job_id}: queued (attempt {attempt}), provider_unavailable: " in caplog.text
        assert ", again in " in caplog.records[-1].getMessage()

    await finish(app, mailroom, worker)

    assert await runs_of(app.db, job_id) == [(1, 1, "retry"), (2, 2, "retry"), (3, 3, "succeeded")]
    job, _ = await app.status.job(job_id)
    assert job.last_error is None
    assert [run.error.code if run.error else None for run in job.history] == ["provider_unavailable"] * 2 + [None]
    assert calls(provider) == {"classify": 3, "draft_reply": 1, "embed": 1}
    assert f"job {job_id}: succeeded (attempt 3)" in caplog.messages


async def test_job_when_a_later_step_fails_then_saved_steps_are_not_paid_for_again(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    provider.play([Turn(mode="outage", only=("draft_reply",)), Turn(mode="outage", only=("embed",))])
    job_id = await accept(app)
    await work_once(app, mailroom, worker)
    job, _ = await app.status.job(job_id)
    assert (job.state, job.progress) == ("queued", 33)
    assert [(step.name, step.state) for step in job.steps] == [
        ("classify", "succeeded"),
        ("draft_reply", "pending"),
        ("embed", "pending"),
    ]

    await finish(app, mailroom, worker)

    assert calls(provider) == {"classify": 1, "draft_reply": 2, "embed": 2}
    assert await runs_of(app.db, job_id) == [(1, 1, "retry"), (2, 2, "retry"), (3, 3, "succeeded")]


@pytest.mark.settings(PROVIDER_TIMEOUT="0.1")
async def test_job_when_the_provider_never_answers_then_retried_as_timeout(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    provider.play([Turn(mode="stall")])
    job_id = await accept(app)
    await work_once(app, mailroom, worker)
    row = await job_row(app.db, job_id)
    assert (row["state"], row["attempts"], row["last_error"]["code"]) == ("queued", 1, "provider_timeout")


@pytest.mark.settings(JOB_MAX_ATTEMPTS="2")
async def test_job_when_it_fails_at_its_last_attempt_then_dead_letter_which_an_operator_can_put_back(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    async def down(desk: Desk) -> Any:
        raise Unavailable("The provider answered 503: it is in trouble.")

    job_id = await accept(app)
    broken = replace(ticket.KIND, plan=lambda _: (ticket.STEPS[0], Step("draft_reply", down, stage=2)))
    for _ in range(2):
        await work_once(app, mailroom, replace(worker, kinds={"ticket": broken}))

    job, ask_again_s = await app.status.job(job_id)
    assert (job.state, job.attempts, job.max_attempts, ask_again_s) == ("dead_letter", 2, 2, None)
    assert await runs_of(app.db, job_id) == [(1, 1, "retry"), (2, 2, "dead_letter")]
    assert await announce(app, mailroom) == []
    [letter] = await mailroom.take_texts(f"{mailroom.tickets}-poison")
    assert f'"job_id":{job_id}' in letter
    assert calls(provider) == {"classify": 1}

    await worker.work(letter)
    job, _ = await app.status.job(job_id)
    assert (job.state, job.attempts) == ("queued", 0)
    await worker.work(letter)
    await finish(app, mailroom, worker)

    assert await runs_of(app.db, job_id) == [(1, 1, "retry"), (2, 2, "dead_letter"), (3, 1, "succeeded")]
    assert calls(provider) == {"classify": 1, "draft_reply": 1, "embed": 1}


# One of each kind; the client's own tests know them all.
BAD_ANSWERS = [
    ("classify", "prose_only", "bad_answer"),
    ("classify", "wrong_enum", "bad_answer"),
    ("classify", "html", "bad_answer"),
    ("classify", "cut_off_complete", "answer_truncated"),
    ("classify", "content_filter", "content_filter"),
    ("draft_reply", "empty_content", "bad_answer"),
    ("draft_reply", "cut_off", "answer_truncated"),
    ("draft_reply", "filtered_null", "content_filter"),
    ("embed", "wrong_length", "bad_answer"),
    ("embed", "null_in_vector", "bad_answer"),
]


async def test_job_when_the_answer_is_bad_then_failed_at_once_after_one_call(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    for task, variant, code in BAD_ANSWERS:
        provider.restart()
        provider.play([Turn(mode="garbled", variant=variant, only=(task,), times=9)])  # type: ignore[arg-type]  # a Task
        job_id = await accept(app)

        await work_once(app, mailroom, worker)

        job, ask_again_s = await app.status.job(job_id)
        assert (job.state, job.attempts, ask_again_s) == ("failed", 1, None), (task, variant)
        assert job.last_error is not None
        assert job.last_error.code == code, (task, variant, job.last_error)
        assert calls(provider)[task] == 1, (task, variant)
        assert [step.state for step in job.steps if step.name == task] == ["failed"]
    assert await mailroom.peek(f"{mailroom.tickets}-poison") == []
    tickets = await app.db.fetch_dicts("SELECT DISTINCT team, priority, draft_reply, embedding FROM tickets")
    assert tickets == [{"team": None, "priority": None, "draft_reply": None, "embedding": None}]


@pytest.mark.parametrize("variant", ["fenced", "thinking", "nul"])
async def test_job_when_the_answer_is_only_odd_then_it_succeeds(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation, variant: str
) -> None:
    provider.play([Turn(mode="garbled", variant=variant, only=("classify", "draft_reply"), times=2)])
    job_id = await accept(app, body="Two payments for one order.")
    await work_once(app, mailroom, worker)
    job, _ = await app.status.job(job_id)
    # What carries NUL may fail the job, but never more than once, and never without a word.
    if job.state == "failed":
        assert variant == "nul"
        assert job.last_error is not None
        assert job.last_error.code == "bad_answer"
    else:
        assert job.state == "succeeded"
        assert job.result is not None
        assert (job.result["team"], "\0" in job.result["draft_reply"]) == ("billing", False)


@pytest.mark.parametrize("status", [400, 422])
async def test_job_when_the_provider_refuses_the_request_then_failed_at_once(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation, status: int
) -> None:
    provider.play([Turn(mode="error", status=status, times=9)])
    job_id = await accept(app)
    await work_once(app, mailroom, worker)
    job, _ = await app.status.job(job_id)
    assert (job.state, job.last_error and job.last_error.code) == ("failed", "provider_refused")
    assert provider.counters.snapshot()["total"] == 1
