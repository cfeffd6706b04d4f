"""A support report through the whole system: asked for, watched, opened, approved, told of, cancelled."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from simulator.stack.web_server import WebServer
from tests.e2e.hosts import Hosts, client_of, finished, job_of
from tests.receiver import Receiver, status
from tests.reports import Page
from tests.stage import until

KEY = "the-function-key"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ASKED = {"task": "Generate weekly support report", "workspace_id": "team_42"}


@pytest.fixture(scope="module")
def host(hosts: Hosts) -> WebServer:
    return hosts.start(
        "host", "--enableAuth", SIMULATOR_HOST_FUNCTION_KEY=KEY, WEBHOOK_SECRET=SECRET, JOB_LEASE_SECONDS="3"
    )


@pytest.fixture
async def client(host: WebServer) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(host) as client:
        client.headers["x-functions-key"] = KEY
        yield client


@pytest.fixture
async def browser(host: WebServer) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody with a link, and without a key."""
    async with client_of(host) as browser:
        yield browser


async def order(client: httpx.AsyncClient, **more: Any) -> int:
    answer = await client.post("/v1/jobs", json=ASKED | more)
    assert answer.status_code == 202, answer.text
    accepted = answer.json()
    assert answer.headers["location"] == accepted["status_url"] == f"/v1/jobs/{accepted['job_id']}"
    assert set(accepted) == {"job_id", "state", "status_url", "queued_ahead", "estimated_wait_seconds"}
    job_id: int = accepted["job_id"]
    return job_id


async def reached(client: httpx.AsyncClient, job_id: int, state: str) -> dict[str, Any]:
    async def is_there() -> dict[str, Any] | None:
        job = await job_of(client, job_id)
        return job if job["state"] == state else None

    job = await until(is_there, f"job {job_id} is {state}")
    assert job is not None
    return job


async def test_report_when_asked_for_in_one_line_then_progress_rises_and_a_page_opens_in_any_browser(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, ai: httpx.AsyncClient
) -> None:
    await ai.put("/simulator/mode", json={"fixed_seconds": 0.2})
    job_id = await order(client)

    seen = [await job_of(client, job_id)]
    while seen[-1]["state"] in ("queued", "running"):
        answer = await client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=5"})
        seen.append(answer.json())
        assert ("retry-after" in answer.headers) == (seen[-1]["state"] != "succeeded")

    job = seen[-1]
    progress = [known["progress"] for known in seen]
    assert (job["state"], job["kind"], set(job["result"])) == (
        "succeeded",
        "support_report",
        {"summary", "artifact_url"},
    )
    assert progress == sorted(progress)
    assert progress[-1] == 100
    assert len(set(progress)) >= 4, progress
    lines = {step["detail"] for known in seen for step in known["steps"] if step["state"] == "running"}
    assert any(line.startswith("batch ") and line.endswith(" of 12") for line in lines), lines
    await _opens(browser, job)
    for path in ("../report.html", "..%2Freport.html", "%2e%2e%2freport.html", "report.html%00", "report.html%2F.."):
        strange = await client.get(job["result"]["artifact_url"].replace("report.html", path))
        assert (strange.status_code, strange.json()["error"]["code"]) == (404, "not_found"), path


async def _opens(browser: httpx.AsyncClient, job: dict[str, Any]) -> None:
    url = job["result"]["artifact_url"]
    page = await browser.get(url)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.headers["x-content-type-options"] == "nosniff"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    assert page.headers["content-disposition"] == "inline; filename*=UTF-8''report.html"
    known = Page.of(page.text)
    assert job["result"]["summary"] in known.text
    assert "svg" in known.names
    assert "script" not in known.names
    again = await browser.get(url, headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", page.headers["etag"])
    assert (await browser.get(url.partition("?")[0])).status_code == 404
    [numbers] = [file["url"] for file in job["artifacts"] if file["name"] == "report.json"]
    assert json.loads((await browser.get(numbers)).content)["tickets"] == 300
    assert (await browser.get(f"/v1/jobs/{job['job_id']}")).status_code == 401


async def test_report_when_it_needs_approval_then_a_draft_first_and_the_caller_is_told_of_both(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, ai: httpx.AsyncClient
) -> None:
    async with Receiver(status("204 No Content")) as receiver:
        job_id = await order(client, require_approval=True, webhook_url=f"http://127.0.0.1:{receiver.port}/hook")
        waiting = await reached(client, job_id, "waiting_for_approval")
        assert [file["name"] for file in waiting["artifacts"]] == ["preview.html"]
        assert "Draft: not approved yet." in (await browser.get(waiting["artifacts"][0]["url"])).text
        listed = (await client.get("/v1/jobs", params={"state": "waiting_for_approval"})).json()["items"]
        assert [item["job_id"] for item in listed] == [job_id]

        decided = await client.post(f"/v1/jobs/{job_id}/approve", json={"decided_by": "mei", "comment": "fine"})
        assert decided.status_code == 200
        job = await finished(client, job_id)

        async def are_told() -> bool:
            return len(receiver.calls) == 2

        await until(are_told, "both events have come")
        events = [Webhook(SECRET).verify(call.body, call.headers) for call in receiver.calls]
    assert (job["state"], job["approval"]["decided_by"], job["approval"]["comment"]) == ("succeeded", "mei", "fine")
    assert (await browser.get(job["result"]["artifact_url"])).status_code == 200
    assert [event["type"] for event in events] == ["job.waiting_for_approval", "job.succeeded"]
    assert events[1]["data"]["result"] == job["result"]


async def test_report_when_cancelled_while_it_runs_then_202_and_soon_cancelled(
    client: httpx.AsyncClient, ai: httpx.AsyncClient
) -> None:
    await ai.put("/simulator/mode", json={"mode": "stall"})
    job_id = await order(client)
    await reached(client, job_id, "running")

    asked = await client.post(f"/v1/jobs/{job_id}/cancel")

    assert (asked.status_code, asked.json()["cancel_requested"]) == (202, True)
    job = await asyncio.wait_for(finished(client, job_id), 10)
    assert (job["state"], job["result"], job["artifacts"]) == ("cancelled", None, [])
    late = await client.post(f"/v1/jobs/{job_id}/cancel")
    assert (late.status_code, late.json()["error"]["code"]) == (409, "conflict")
