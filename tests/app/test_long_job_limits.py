"""Long jobs against their limits: running time over hands, slices and people; who ends first; files too large."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from shared.artifacts import MAX_BYTES, Artifact
from shared.errors import Undelivered
from shared.kinds import support_report
from shared.kinds.kind import Desk, Kind, Outputs, Step
from shared.wiring import App
from tests.front import Front
from tests.report_orders import ASKED, announced, order, shown, work
from tests.stage import Mailroom, job_row, runs_of, until
from tests.tcp_wire import Wire


def kind_of(*steps: Step, **more: Any) -> dict[str, Kind]:
    """The kinds of a worker whose reports have these steps."""
    made = replace(
        support_report.make(2), plan=lambda _: steps, result=lambda _: {}, artifacts=lambda _: (), preview=lambda _: ()
    )
    return {"support_report": replace(made, **more)}


async def run_once(app: App, mailroom: Mailroom, kinds: dict[str, Kind]) -> None:
    [text] = await announced(app, mailroom)
    await replace(app.worker, kinds=kinds, kick=lambda: None).work(text)


@pytest.mark.settings(PROVIDER_CHAT_RPM="60", PROVIDER_CHAT_BURST="1")
async def test_hands_when_all_wait_for_the_quota_then_it_does_not_count_but_does_while_one_works(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    async def wait(desk: Desk) -> None:
        run = desk.run  # type: ignore[attr-defined]  # the worker's own desk
        await run.pause(0.6)

    async def toil(_: Desk) -> None:
        await asyncio.sleep(0.6)

    idle = await order(front)
    await run_once(app, mailroom, kind_of(Step("a", wait), Step("b", wait)))
    busy = await order(front)
    await run_once(app, mailroom, kind_of(Step("a", wait), Step("b", toil)))

    idle_s, busy_s = (await job_row(app.db, idle))["ran_s"], (await job_row(app.db, busy))["ran_s"]
    assert busy_s >= 0.59
    assert idle_s < busy_s - 0.3


@pytest.mark.settings(RUN_SLICE_SECONDS="0.05")
async def test_deadline_when_the_job_runs_in_slices_then_all_of_them_count_and_the_running_call_ends(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    ended: list[str] = []

    async def toil(_: Desk) -> None:
        try:
            await asyncio.sleep(0.2)
        finally:
            ended.append("done")

    steps = tuple(Step(f"s{number}", toil, stage=number) for number in range(50))
    job_id = await order(front)
    await app.db.execute("UPDATE jobs SET deadline_s = 1")
    for _ in range(12):
        await run_once(app, mailroom, kind_of(*steps))
        if (await job_row(app.db, job_id))["state"] == "failed":
            break
    job = await shown(front, job_id)
    assert (job["state"], job["last_error"]["code"]) == ("failed", "job_timeout")
    *cut, last = await runs_of(app.db, job_id)
    assert {outcome for _, _, outcome in cut} == {"slice"}
    assert last[1:] == (1, "failed"), "slices cost no attempt"
    assert len(cut) >= 2
    assert not [task for task in asyncio.all_tasks() if task.get_name() == f"job-{job_id}"]
    assert len(ended) <= 6


async def test_deadline_when_people_take_their_time_then_it_does_not_count(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    async def quick(_: Desk) -> None: ...

    kinds = kind_of(Step("a", quick), Step("ask", stage=1, is_approval=True), Step("b", quick, stage=2))
    job_id = await order(front, require_approval=True, timeout_seconds=30)
    await run_once(app, mailroom, kinds)
    ran_s = (await job_row(app.db, job_id))["ran_s"]
    await app.db.execute("UPDATE approvals SET asked_at = asked_at - interval '2 days'")
    await app.db.execute("UPDATE jobs SET started_at = started_at - interval '2 days'")
    assert (await front.post(f"/v1/jobs/{job_id}/approve", {"decided_by": "mei"})).status == 200
    await run_once(app, mailroom, kinds)
    row = await job_row(app.db, job_id)
    assert row["state"] == "succeeded"
    assert ran_s <= row["ran_s"] < 30


async def test_deadline_when_the_database_was_away_before_the_claim_then_it_does_not_count(
    front: Front, app: App, mailroom: Mailroom, wire: Wire
) -> None:
    async def quick(_: Desk) -> None: ...

    job_id = await order(front)
    [text] = await announced(app, mailroom)
    await app.db.execute("UPDATE jobs SET deadline_s = 1")
    wire.cut()
    running = asyncio.create_task(replace(app.worker, kinds=kind_of(Step("a", quick)), kick=lambda: None).work(text))
    began = time.monotonic()

    async def is_long_ago() -> bool:
        return time.monotonic() > began + 1.5

    await until(is_long_ago, "the deadline would be over")
    wire.mend()
    await running
    assert (await job_row(app.db, job_id))["state"] == "succeeded"


@pytest.mark.parametrize(
    ("seconds", "status"), [(29, 422), (30, 202), (3600, 202), (3601, 422), (60.5, 422), ("60", 422)]
)
async def test_timeout_when_out_of_bounds_then_422(front: Front, app: App, seconds: object, status: int) -> None:
    answer = await front.post("/v1/jobs", ASKED | {"timeout_seconds": seconds})
    assert answer.status == status
    if status == 422:
        assert answer.fields == {"timeout_seconds"}
    else:
        assert (await job_row(app.db, answer.json()["job_id"]))["deadline_s"] == seconds


async def test_job_when_it_finished_first_then_it_stays_succeeded_and_the_cancel_says_so(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    job_id = await order(front)
    await work(app, mailroom)
    late = await front.post(f"/v1/jobs/{job_id}/cancel")
    assert (late.status, late.error["code"]) == (409, "conflict")
    assert f"Job {job_id} is succeeded" in late.error["message"]
    job = await shown(front, job_id)
    assert (job["state"], job["cancel_requested"]) == ("succeeded", False)


async def test_job_when_it_finishes_though_a_cancel_came_then_it_stays_succeeded(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    async def last_thing(desk: Desk) -> None:
        assert (await front.post(f"/v1/jobs/{desk.claim.job_id}/cancel")).status == 202

    job_id = await order(front)
    await run_once(app, mailroom, kind_of(Step("a", last_thing)))
    job = await shown(front, job_id)
    assert (job["state"], job["cancel_requested"]) == ("succeeded", True)


@pytest.mark.parametrize("max_attempts", [1, 5])
async def test_cancel_when_the_run_would_be_retried_or_dead_lettered_then_cancelled(
    front: Front, app: App, mailroom: Mailroom, max_attempts: int
) -> None:
    async def fail(desk: Desk) -> None:
        assert (await front.post(f"/v1/jobs/{desk.claim.job_id}/cancel")).status == 202
        raise Undelivered("It did not work.", status=503)

    job_id = await order(front)
    await app.db.execute("UPDATE jobs SET max_attempts = %(n)s", {"n": max_attempts})
    await run_once(app, mailroom, kind_of(Step("a", fail)))
    assert (await shown(front, job_id))["state"] == "cancelled"
    assert await runs_of(app.db, job_id) == [(1, 1, "cancelled")]
    assert await app.db.fetch_dicts("SELECT 1 AS one FROM outbox") == []


async def test_cancel_when_it_comes_before_the_question_then_nobody_is_asked(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    async def last_thing(desk: Desk) -> None:
        assert (await front.post(f"/v1/jobs/{desk.claim.job_id}/cancel")).status == 202

    job_id = await order(front, require_approval=True)
    preview = (Artifact("preview.html", "text/html", b"a draft"),)
    kinds = kind_of(Step("a", last_thing), Step("ask", stage=1, is_approval=True), preview=lambda _: preview)
    await run_once(app, mailroom, kinds)
    job = await shown(front, job_id)
    assert (job["state"], job["approval"], job["artifacts"]) == ("cancelled", None, [])


async def test_job_when_it_waits_for_a_person_then_pollers_are_told_to_take_their_time(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    job_id = await order(front, require_approval=True)
    assert (await front.get(f"/v1/jobs/{job_id}")).headers["retry-after"] == "1"
    await work(app, mailroom)
    assert (await front.get(f"/v1/jobs/{job_id}")).headers["retry-after"] == "30"
    await front.post(f"/v1/jobs/{job_id}/reject", {"decided_by": "sam"})
    assert "retry-after" not in (await front.get(f"/v1/jobs/{job_id}")).headers


async def test_approval_when_cancelled_then_no_decision_any_more(front: Front, app: App, mailroom: Mailroom) -> None:
    job_id = await order(front, require_approval=True)
    await work(app, mailroom)
    cancelled = await front.post(f"/v1/jobs/{job_id}/cancel")
    assert (cancelled.status, cancelled.json()["approval"]["state"]) == (200, "cancelled")
    late = await front.post(f"/v1/jobs/{job_id}/approve", {"decided_by": "mei"})
    assert late.status == 409
    assert "was cancelled at" in late.error["message"]


@pytest.mark.parametrize("end", ["reject", "expire"])
async def test_files_when_not_approved_then_only_the_draft_ever_was_there(
    front: Front, app: App, mailroom: Mailroom, end: str
) -> None:
    job_id = await order(front, require_approval=True)
    await work(app, mailroom)
    if end == "reject":
        await front.post(f"/v1/jobs/{job_id}/reject", {"decided_by": "sam"})
    else:
        await app.db.execute("UPDATE approvals SET expires_at = now() - interval '1 second'")
        await app.sweep.run_pass()
    job = await shown(front, job_id)
    assert (job["state"], job["result"]) == ("cancelled", None)
    token = job["artifacts"][0]["url"].partition("token=")[2]
    for name in ("report.html", "report.json"):
        assert (await front.get(f"/v1/artifacts/{job_id}/{name}?token={token}")).status == 404
    for verb in ("approve", "reject"):
        late = await front.post(f"/v1/jobs/{job_id}/{verb}", {"decided_by": "mei"})
        assert (late.status, late.error["code"]) == (409, "conflict")


@pytest.mark.parametrize("wants_approval", [False, True])
async def test_file_when_larger_than_is_kept_then_failed_and_nothing_is_kept(
    front: Front, app: App, mailroom: Mailroom, wants_approval: bool
) -> None:
    def files(size: int) -> dict[str, Any]:
        def made(_: Outputs) -> tuple[Artifact, ...]:
            return (Artifact("report.json", "application/json", bytes(size)),)

        return {"artifacts": made, "preview": made}

    async def quick(_: Desk) -> None: ...

    steps = (Step("a", quick), Step("ask", stage=1, is_approval=True))
    job_id = await order(front, require_approval=wants_approval)
    await run_once(app, mailroom, kind_of(*steps, **files(MAX_BYTES + 1)))
    job = await shown(front, job_id)
    assert (job["state"], job["last_error"]["code"], job["artifacts"]) == ("failed", "artifact_too_large", [])
    assert "report.json" in job["last_error"]["message"]

    assert (await front.post(f"/v1/jobs/{job_id}/retry")).status == 200
    await run_once(app, mailroom, kind_of(*steps, **files(MAX_BYTES)))
    assert [file["size"] for file in (await shown(front, job_id))["artifacts"]] == [MAX_BYTES]


async def test_file_when_asked_for_by_another_jobs_number_then_404(front: Front, app: App, mailroom: Mailroom) -> None:
    first, second = await order(front), await order(front)
    await work(app, mailroom)
    url = (await shown(front, first))["result"]["artifact_url"]
    opened = await front.get(url)
    assert opened.status == 200
    assert opened.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in opened.headers["content-security-policy"]
    assert "script" not in opened.headers["content-security-policy"]
    token = url.partition("token=")[2]
    assert len(token) >= 22, "128 bits"
    for job in (second, 999, "0", "-1", "9" * 30, "1e0", "%00"):
        assert (await front.get(f"/v1/artifacts/{job}/report.html?token={token}")).status == 404
    for name in ("report.json", "REPORT.HTML", "..%2f1%2freport.html", "report.html%00", ".", "%2e%2e", "x" * 300):
        assert (await front.get(f"/v1/artifacts/{first}/{name}?token={token}")).status == 404
    for query in ("", "?token=", f"?token={token[:-1]}", f"?token={token}x", "?token=%00", "?token=%F0%9F%90%8C"):
        assert (await front.get(f"/v1/artifacts/{first}/report.html{query}")).status == 404
