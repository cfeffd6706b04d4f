"""Every arrow writes one line that a person can follow a job by, and no line tells what customers wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.api.asked import Discard
from shared.errors import Unavailable
from shared.kinds.kind import Desk
from shared.wiring import App
from shared.worker import Worker
from tests.kinds import kind_of
from tests.stage import Mailroom, accept, work_once

SECRET = "My password is hunter2"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("DEBUG", "larkfield")
    return caplog


def about(lines: pytest.LogCaptureFixture, job_id: int) -> list[str]:
    """The INFO lines about a job."""
    return [
        record.getMessage()
        for record in lines.records
        if record.levelname == "INFO" and record.getMessage().startswith(f"job {job_id}:")
    ]


async def test_job_when_it_succeeds_then_three_lines(
    app: App, mailroom: Mailroom, worker: Worker, lines: pytest.LogCaptureFixture
) -> None:
    job_id = await accept(app, subject=SECRET, body=SECRET)
    await work_once(app, mailroom, worker)
    assert about(lines, job_id) == [
        f"job {job_id}: queued (T-500001)",
        f"job {job_id}: running (attempt 1)",
        f"job {job_id}: succeeded (attempt 1)",
    ]
    assert "hunter2" not in lines.text


@pytest.mark.settings(JOB_MAX_ATTEMPTS="2")
async def test_job_when_it_goes_the_long_way_then_a_line_an_arrow_with_reasons_and_waits(
    app: App, mailroom: Mailroom, worker: Worker, lines: pytest.LogCaptureFixture
) -> None:
    async def down(desk: Desk) -> None:
        raise Unavailable("The provider answered 503.")

    job_id = await accept(app, subject=SECRET)
    for _ in range(2):
        await work_once(app, mailroom, replace(worker, kinds=kind_of(down)))
    await app.decisions.retry(job_id)
    for _ in range(2):
        await work_once(app, mailroom, replace(worker, kinds=kind_of(down)))
    await app.decisions.discard(job_id, Discard(discarded_by="Ada"))
    await app.decisions.retry(job_id)
    await app.decisions.cancel(job_id)

    told = about(lines, job_id)
    retry, dead = "queued (attempt 1), provider_unavailable: ", "dead_letter (attempt 2), provider_unavailable: "
    beginnings = [
        "queued (T-500001)",
        *("running (attempt 1)", retry, "running (attempt 2)", dead, "queued (retried by a person)"),
        *("running (attempt 1)", retry, "running (attempt 2)", dead, "failed (discarded by a person)"),
        *("queued (retried by a person)", "cancelled"),
    ]
    assert len(told) == len(beginnings), told
    for line, beginning in zip(told, beginnings, strict=True):
        assert line.startswith(f"job {job_id}: {beginning}")
        assert (", again in " in line) == (beginning == retry)
    assert "hunter2" not in lines.text
