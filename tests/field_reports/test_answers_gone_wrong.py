"""A10–A13: answers in the shapes that have been seen in the field, each once through the whole job.

The contract wins over the reports: an answer that cannot be used fails the job at once, with one call.
"""

from __future__ import annotations

from typing import get_args

import pytest

from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation
from simulator.provider.tasks import Task
from simulator.provider.weather import Turn
from tests.stage import Mailroom, accept, calls, work_once

# What becomes of a job when one of its answers is spoilt like this: None = it succeeds, else the code it fails with.
CLASSIFICATIONS: dict[str, str | None] = {
    "fenced": None,
    "fenced_bare": None,
    "prose_before": None,
    "prose_after": None,
    "fence_then_note": None,
    "backticks_inside": None,
    "bom": None,
    "two_objects": None,
    "thinking": None,
    "in_a_string": None,
    "empty_fence": "bad_answer",
    "single_quotes": "bad_answer",
    "trailing_comma": "bad_answer",
    "duplicate_key": "bad_answer",
    "prose_only": "bad_answer",
    "wrong_enum": "bad_answer",
    "empty_choices": "bad_answer",
    "html": "bad_answer",
    "cut_off": "answer_truncated",
    "cut_off_complete": "answer_truncated",
    "content_filter": "content_filter",
    "filtered": "content_filter",
    "filtered_null": "content_filter",
    "refusal": "content_filter",
}
VECTORS: dict[str, str | None] = dict.fromkeys(
    (
        "missing_vector",
        "extra_vector",
        "wrong_length",
        "empty_vector",
        "null_in_vector",
        "text_in_vector",
        "zero_vector",
        "base64_vector",
    ),
    "bad_answer",
)


async def ends(app: App, mailroom: Mailroom, worker: Worker, provider: Simulation, task: str, variant: str) -> str:
    """How a job ends, whose answer of this task is spoilt whenever it is asked: `succeeded`, or the code."""
    assert task in get_args(Task)
    provider.restart()
    provider.play([Turn(mode="garbled", variant=variant, only=(task,), times=9)])  # type: ignore[arg-type]  # asserted
    job_id = await accept(app, body="Two payments for one order.")
    await work_once(app, mailroom, worker)
    job, _ = await app.status.job(job_id)
    assert job.attempts == 1
    assert calls(provider)[task] == 1, "one call, whatever it said"
    if job.state == "succeeded":
        assert job.result is not None
        assert (job.result["team"], job.result["priority"]) == ("billing", 1)
        return "succeeded"
    assert job.last_error is not None
    assert len(job.last_error.message) < 300
    assert await mailroom.peek(f"{mailroom.tickets}-poison") == []
    return job.last_error.code


@pytest.mark.parametrize(("task", "variants"), [("classify", CLASSIFICATIONS), ("embed", VECTORS)])
async def test_a10_to_a13_answer_when_spoilt_then_read_if_it_can_be_and_else_failed_at_once(
    app: App,
    mailroom: Mailroom,
    worker: Worker,
    provider: Simulation,
    task: str,
    variants: dict[str, str | None],
) -> None:
    found = {variant: await ends(app, mailroom, worker, provider, task, variant) for variant in variants}
    assert found == {variant: code or "succeeded" for variant, code in variants.items()}


async def test_a13_vector_when_of_another_size_then_told_which_and_nothing_is_stored(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    await ends(app, mailroom, worker, provider, "embed", "wrong_length")
    row = await app.db.fetch_dict("SELECT last_error->>'message' AS message FROM jobs")
    assert row is not None
    assert "384" in row["message"]
    assert "383" in row["message"]
    assert await app.db.fetch_dicts("SELECT team, draft_reply, embedding FROM tickets") == [
        {"team": None, "draft_reply": None, "embedding": None}
    ]


async def test_a11_answer_when_cut_off_then_its_text_is_not_in_the_logs(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "larkfield")
    await ends(app, mailroom, worker, provider, "classify", "cut_off_complete")
    assert "answer_truncated" in caplog.text
    assert '"team"' not in caplog.text
