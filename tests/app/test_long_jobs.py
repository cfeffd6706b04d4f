"""Long jobs through the engine: the README's own example kind, approval, cancel, artifacts, deadline."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from shared import wiring
from shared.kinds.kind import Kind
from shared.settings import Settings
from shared.wiring import App
from simulator.provider.app import create_app
from simulator.provider.simulation import Simulation
from tests.front import Front
from tests.stage import Mailroom, until

README = Path(__file__).parents[2] / "README.md"
ASKED = {
    "task": "Translate the greeting",
    "workspace_id": "team_42",
    "kind": "translation",
    "input": {"text": "Hello", "languages": ["nl", "de", "fr"]},
}


def readme_kind() -> Kind:
    """The example of a kind, exactly as the README shows it."""
    [code] = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(code.splitlines()) < 60
    names: dict[str, Any] = {"__name__": "readme_kind"}
    exec(compile(code, "README.md", "exec"), names)
    kind: Kind = names["KIND"]
    return kind


@pytest.fixture
async def app(settings: Settings, provider: Simulation) -> AsyncIterator[App]:
    """The app with one kind more."""
    http = httpx.AsyncClient(transport=httpx.ASGITransport(create_app(provider)))
    built = await wiring.build(
        settings, http=http, kinds={**wiring.known_kinds(settings), "translation": readme_kind()}
    )
    yield built
    await built.close()


async def work(app: App, mailroom: Mailroom) -> None:
    """One pass of the relay, and all long jobs that it announced."""
    await app.kick.settled()
    await app.relay.run_pass(stay_s=0)
    await asyncio.gather(*(app.worker.work(text) for text in await mailroom.take_texts(mailroom.reports)))


async def post(front: Front, **more: Any) -> int:
    answer = await front.post("/v1/jobs", ASKED | more)
    assert answer.status == 202, answer.body
    job_id: int = answer.json()["job_id"]
    return job_id


async def test_readme_kind_when_asked_for_then_done_with_steps_and_a_file(
    front: Front, app: App, mailroom: Mailroom, provider: Simulation
) -> None:
    job_id = await post(front)
    await work(app, mailroom)
    job = (await front.get(f"/v1/jobs/{job_id}")).json()
    assert job["state"] == "succeeded", job
    assert job["result"] == {"languages": ["de", "fr", "nl"]}
    assert [(step["name"], step["state"], step["detail"]) for step in job["steps"]] == [
        ("prepare", "succeeded", None),
        ("de", "succeeded", "into de"),
        ("fr", "succeeded", "into fr"),
        ("nl", "succeeded", "into nl"),
    ]
    assert provider.counters.snapshot()["total"] == 3
    [file] = job["artifacts"]
    opened = await front.get(file["url"])
    assert opened.status == 200
    assert set(json.loads(opened.body)) == {"de", "fr", "nl"}
    assert (await front.get(file["url"], {"If-None-Match": opened.headers["etag"]})).status == 304


async def test_job_when_it_wants_approval_then_it_rests_until_a_person_decides(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    job_id = await post(front, require_approval=True)
    await work(app, mailroom)
    waiting = (await front.get(f"/v1/jobs/{job_id}")).json()
    assert (waiting["state"], waiting["approval"]["state"], waiting["attempts"]) == (
        "waiting_for_approval",
        "waiting",
        0,
    )
    assert [file["name"] for file in waiting["artifacts"]] == ["texts.json"]
    assert await app.db.fetch_dicts("SELECT 1 AS one FROM outbox") == []
    assert [item["job_id"] for item in (await front.get("/v1/jobs?state=waiting_for_approval")).json()["items"]] == [
        job_id
    ]

    first, second = await asyncio.gather(
        front.post(f"/v1/jobs/{job_id}/approve", {"decided_by": "mei", "comment": "fine"}),
        front.post(f"/v1/jobs/{job_id}/reject", {"decided_by": "sam"}),
    )
    assert sorted([first.status, second.status]) == [200, 409]
    won, lost = ("mei", second) if first.status == 200 else ("sam", first)
    assert won in lost.json()["error"]["message"]
    await work(app, mailroom)
    job = (await front.get(f"/v1/jobs/{job_id}")).json()
    assert job["approval"]["decided_by"] == won
    assert job["state"] == ("succeeded" if won == "mei" else "cancelled")


async def test_job_when_rejected_then_cancelled_with_the_reason(front: Front, app: App, mailroom: Mailroom) -> None:
    job_id = await post(front, require_approval=True)
    await work(app, mailroom)
    answer = await front.post(f"/v1/jobs/{job_id}/reject", {"decided_by": "sam", "comment": "wrong tone"})
    assert answer.json()["state"] == "cancelled"
    assert answer.json()["last_error"]["code"] == "rejected"
    assert "wrong tone" in answer.json()["last_error"]["message"]
    assert (await front.post(f"/v1/jobs/{job_id}/approve", {"decided_by": "mei"})).status == 409


async def test_approval_when_nobody_gives_it_then_expired(front: Front, app: App, mailroom: Mailroom) -> None:
    job_id = await post(front, require_approval=True)
    await work(app, mailroom)
    await app.db.execute("UPDATE approvals SET expires_at = now() - interval '1 second'")
    assert (await front.post(f"/v1/jobs/{job_id}/approve", {"decided_by": "mei"})).status == 409
    await app.sweep.run_pass()
    job = (await front.get(f"/v1/jobs/{job_id}")).json()
    assert (job["state"], job["last_error"]["code"], job["approval"]["state"]) == (
        "cancelled",
        "approval_expired",
        "expired",
    )


@pytest.mark.settings(JOB_LEASE_SECONDS="1")
async def test_running_job_when_cancelled_then_it_stops_within_a_heartbeat(
    front: Front, app: App, mailroom: Mailroom, provider: Simulation
) -> None:
    provider.change(provider.weather.model_copy(update={"mode": "stall"}))
    job_id = await post(front)
    await app.kick.settled()
    await app.relay.run_pass(stay_s=0)
    [text] = await mailroom.take_texts(mailroom.reports)
    running = asyncio.create_task(app.worker.work(text))

    async def calls() -> bool:
        return bool(provider.counters.snapshot()["total"])

    await until(calls, "the provider is called")
    asked = await front.post(f"/v1/jobs/{job_id}/cancel")
    assert (asked.status, asked.json()["cancel_requested"]) == (202, True)
    assert (await front.post(f"/v1/jobs/{job_id}/cancel")).status == 202
    await asyncio.wait_for(running, 5)
    assert (await front.get(f"/v1/jobs/{job_id}")).json()["state"] == "cancelled"


async def test_kind_when_unknown_or_not_to_be_asked_for_then_422(front: Front) -> None:
    for kind in ("ticket", "webhook", "nonsense"):
        answer = await front.post("/v1/jobs", ASKED | {"kind": kind})
        assert (answer.status, answer.json()["error"]["fields"][0]["field"]) == (422, "kind")


async def test_input_when_it_does_not_fit_the_kind_then_422_below_input(front: Front) -> None:
    answer = await front.post("/v1/jobs", ASKED | {"input": {"text": "", "languages": []}})
    assert answer.status == 422
    assert {field["field"] for field in answer.json()["error"]["fields"]} == {
        "input.text",
        "input.languages",
    }


async def test_workspace_when_unknown_then_404_and_nothing_is_saved(front: Front, app: App) -> None:
    assert (await front.post("/v1/jobs", ASKED | {"workspace_id": "nobody"})).status == 404
    assert await app.db.fetch_dicts("SELECT 1 AS one FROM jobs") == []


@pytest.mark.parametrize("path", ["texts.json", "..%2Ftexts.json", "texts.json%00", "other.html"])
async def test_artifact_when_the_token_or_name_is_wrong_then_404(front: Front, path: str) -> None:
    assert (await front.get(f"/v1/artifacts/1/{path}?token=guess")).status == 404


async def test_waiting_caller_when_the_job_changes_then_told_at_once(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    job_id = await post(front)
    waiting = asyncio.create_task(front.get(f"/v1/jobs/{job_id}", {"Prefer": "wait=20"}))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    await work(app, mailroom)
    answer = await asyncio.wait_for(waiting, 5)
    assert answer.json()["state"] in ("running", "succeeded")


async def test_waiting_caller_when_nothing_changes_then_told_when_the_time_is_up(front: Front) -> None:
    job_id = await post(front)
    answer = await asyncio.wait_for(front.get(f"/v1/jobs/{job_id}", {"Prefer": "wait=1"}), 5)
    assert answer.json()["state"] == "queued"
    assert (await front.get("/v1/jobs/999", {"Prefer": "wait=5"})).status == 404
