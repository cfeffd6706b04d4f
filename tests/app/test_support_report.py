"""Support reports from the request to the page, on real Postgres and real queues."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest

from shared import wiring
from shared.db import Database
from shared.settings import Settings
from shared.wiring import App
from simulator import data
from simulator.provider.app import create_app
from simulator.provider.simulation import Simulation
from simulator.provider.weather import Turn
from tests.front import Front
from tests.report_orders import announced, document, finished, opened, order, send, shown, work
from tests.reports import HOSTILE, Page, answer
from tests.stage import Mailroom, calls, job_row, runs_of, until

BATCHES = [f"batch-{number}" for number in range(1, 13)]

Look = Callable[[httpx.Request], Awaitable[httpx.Response | None]]


class Model(httpx.ASGITransport):
    """The simulated provider; `look` sees every call first and may answer it itself."""

    look: Look | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        own = await self.look(request) if self.look else None
        return own or await super().handle_async_request(request)


@pytest.fixture
def model(provider: Simulation) -> Model:
    return Model(create_app(provider))


@pytest.fixture
async def app(settings: Settings, model: Model) -> AsyncIterator[App]:
    """The app, with a model that can be looked at."""
    built = await wiring.build(settings, http=httpx.AsyncClient(transport=model))
    yield built
    await built.close()


async def test_report_when_asked_for_with_task_and_workspace_then_is_there_with_everything(
    front: Front, app: App, mailroom: Mailroom, provider: Simulation, model: Model, database_url: str
) -> None:
    data.load(database_url)
    progress: list[int] = []

    async def look(_: httpx.Request) -> None:
        progress.append((await job_row(app.db, job_id))["progress"])

    model.look = look
    job_id = await order(front)
    await work(app, mailroom)

    job = await shown(front, job_id)
    assert (job["kind"], job["state"], job["progress"], job["attempts"]) == ("support_report", "succeeded", 100, 1), job
    assert [(step["name"], step["state"]) for step in job["steps"]] == [
        (name, "succeeded") for name in ("collect", *BATCHES, "merge", "draw")
    ]
    assert all(step["started_at"] <= step["finished_at"] for step in job["steps"])
    assert [step["detail"] for step in job["steps"]][7] == "batch 7 of 12"
    assert calls(provider) == {"summarise": 12, "merge": 1}
    assert provider.counters.snapshot()["max_in_flight"] <= 4
    assert progress == sorted(progress)
    assert len(set(progress)) >= 3

    assert set(job["result"]) == {"summary", "artifact_url"}
    assert job["result"]["summary"].startswith("Top issues were ")
    assert {file["name"]: file["url"] for file in job["artifacts"]}["report.html"] == job["result"]["artifact_url"]
    page = await front.get(job["result"]["artifact_url"])
    assert page.headers["content-type"].startswith("text/html")
    assert job["result"]["summary"] in Page.of(page.body.decode()).text
    numbers = await document(front, job)
    assert numbers["tickets"] == numbers["tickets_in_period"] == 300
    for split in ("by_team", "by_priority", "by_channel", "by_day"):
        assert sum(numbers[split].values()) == 300, split
    assert len(numbers["by_day"]) == 8
    assert 0 < sum(problem["tickets"] for problem in numbers["problems"]) <= 300
    examples = [int(name[2:]) for problem in numbers["problems"] for name in problem["examples"]]
    rows = await app.db.fetch_dicts(
        "SELECT 1 AS one FROM tickets WHERE ticket_id = ANY(%(ids)s) AND workspace_id = 'team_42'", {"ids": examples}
    )
    assert len(rows) == len(examples) == len(set(examples)) > 0


@pytest.mark.settings(JOB_LEASE_SECONDS="1")
async def test_worker_when_killed_amid_batches_then_only_those_under_way_are_made_again(
    front: Front, app: App, mailroom: Mailroom, provider: Simulation
) -> None:
    await send(app.db, how_many=300)
    provider.play([Turn(times=5), Turn(mode="stall", times=4)])
    job_id = await order(front)
    [text] = await announced(app, mailroom)
    dying = asyncio.create_task(app.worker.work(text))

    async def are_stuck() -> bool:
        return calls(provider).get("summarise", 0) == 9

    await until(are_stuck, "four batches are under way")
    dying.cancel()
    await asyncio.wait({dying})
    before = await shown(front, job_id)
    assert (before["state"], sum(step["state"] == "succeeded" for step in before["steps"])) == ("running", 6)
    await send(app.db, "Came later", how_many=30)
    first = {mark.rpartition("/")[2] for mark in provider.counters.snapshot()["marks"]}
    provider.counters.reset()

    async def is_found() -> bool:
        await app.sweep.run_pass()
        return bool((await job_row(app.db, job_id))["state"] == "queued")

    await until(is_found, "the dead worker is noticed")
    await work(app, mailroom)

    job = await shown(front, job_id)
    assert (job["state"], await runs_of(app.db, job_id)) == ("succeeded", [(1, 1, "lost"), (2, 2, "succeeded")])
    again = [mark.rpartition("/")[2] for mark in provider.counters.snapshot()["marks"]]
    assert len(first & set(again)) == 4
    assert calls(provider) == {"summarise": 7, "merge": 1}
    assert (await document(front, job))["tickets"] == 300


async def test_report_when_it_needs_approval_then_only_a_draft_is_there_before_it(
    front: Front, app: App, mailroom: Mailroom, provider: Simulation
) -> None:
    await send(app.db, how_many=3)
    job_id = await order(front, require_approval=True)
    await work(app, mailroom)
    waiting = await shown(front, job_id)
    assert (waiting["state"], waiting["result"]) == ("waiting_for_approval", None)
    assert [file["name"] for file in waiting["artifacts"]] == ["preview.html"]
    assert "Draft: not approved yet." in await opened(front, waiting, "preview.html")
    assert [(step["name"], step["state"]) for step in waiting["steps"]][-2:] == [
        ("draw", "succeeded"),
        ("approval", "pending"),
    ]
    was_asked = calls(provider)

    assert (await front.post(f"/v1/jobs/{job_id}/approve", {"decided_by": "mei"})).status == 200
    await work(app, mailroom)

    job = await shown(front, job_id)
    assert (job["state"], job["progress"]) == ("succeeded", 100)
    assert {"report.html", "report.json"} <= {file["name"] for file in job["artifacts"]}
    assert "Draft" not in await opened(front, job, "report.html")
    assert (await front.get(job["result"]["artifact_url"])).status == 200
    assert calls(provider) == was_asked == {"summarise": 1, "merge": 1}


async def test_report_when_there_are_no_tickets_then_says_so_and_asks_nobody(
    front: Front, app: App, mailroom: Mailroom, provider: Simulation
) -> None:
    job, numbers = await finished(front, app, mailroom)
    assert job["result"]["summary"] == "No tickets came to team_42 in this period."
    assert [(step["name"], step["state"]) for step in job["steps"]] == [("collect", "succeeded"), ("draw", "succeeded")]
    assert (numbers["tickets"], numbers["problems"]) == (0, [])
    assert "No tickets came to team_42" in await opened(front, job, "report.html")
    assert calls(provider) == {}


async def test_tickets_when_hostile_then_neither_numbers_nor_ids_nor_the_page_obey(
    front: Front, app: App, mailroom: Mailroom, model: Model
) -> None:
    names = [name for text in HOSTILE for name in await send(app.db, text[:120], text)]
    [stranger] = await send(app.db, "Secret of another workspace", workspace_id="team_7")
    prompts: list[str] = []

    async def obey(request: httpx.Request) -> httpx.Response:
        """A model that does all that a hostile ticket can want of it."""
        asked = json.loads(request.content)
        prompts.append(asked["messages"][1]["content"])
        of = [stranger, "T-1", names[0]] if "merge" not in asked["messages"][0]["content"][:20] else [1, 2, 99]
        said = answer(HOSTILE[0] + HOSTILE[2], [{"title": HOSTILE[1], "description": HOSTILE[4], "of": of}])
        message = {"role": "assistant", "content": json.dumps(said)}
        return httpx.Response(200, json={"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})

    model.look = obey
    job, numbers = await finished(front, app, mailroom)

    lines = [json.loads(line) for line in prompts[0].splitlines()]
    assert [line["id"] for line in lines] == names
    assert "Secret" not in "".join(prompts)
    assert numbers["tickets"] == len(HOSTILE)
    assert [(problem["tickets"], problem["examples"]) for problem in numbers["problems"]] == [(1, [names[0]])]
    text = await opened(front, job, "report.html")
    page = Page.of(text)
    assert not page.names & {"script", "img", "iframe", "a"}
    assert stranger not in text
    assert HOSTILE[0] in page.text


async def test_report_when_the_model_answers_nonsense_then_failed_and_a_retry_keeps_what_is_done(
    front: Front, app: App, mailroom: Mailroom, provider: Simulation
) -> None:
    await send(app.db, how_many=60)
    provider.play([Turn(mode="garbled", variant="prose_only", only=("merge",))])
    job_id = await order(front)
    await work(app, mailroom)
    failed = await shown(front, job_id)
    assert (failed["state"], failed["last_error"]["code"], failed["artifacts"]) == ("failed", "bad_answer", [])
    provider.counters.reset()

    assert (await front.post(f"/v1/jobs/{job_id}/retry")).status == 200
    await work(app, mailroom)
    assert (await shown(front, job_id))["state"] == "succeeded"
    assert calls(provider) == {"merge": 1}


async def test_tickets_when_deleted_while_the_report_is_made_then_it_goes_on_without_them(
    front: Front, app: App, mailroom: Mailroom, provider: Simulation, db: Database
) -> None:
    await send(app.db, how_many=30)
    provider.play([Turn(mode="outage", times=2)])
    job_id = await order(front)
    await work(app, mailroom)
    await db.execute("DELETE FROM tickets")
    await work(app, mailroom)
    job = await shown(front, job_id)
    assert (job["state"], (await document(front, job))["problems"]) == ("succeeded", [])
    assert job["result"]["summary"] == "The tickets of this period were deleted before they could be read."
    assert calls(provider) == {"summarise": 2}
