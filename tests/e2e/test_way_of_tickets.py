"""Tickets and a report through the whole system: one, twenty, some twice; and what customers and tools see of it."""

import asyncio
import re
from collections.abc import AsyncIterator

import httpx
import pytest

from benchmarks.site import Site
from simulator import customers, duplicates
from simulator.stack.web_server import WebServer
from tests.e2e.hosts import EACH_STEP_ONCE, Hosts, calls_for, client_of, finished, outcomes, send_ticket


@pytest.fixture(scope="module")
def host(hosts: Hosts) -> WebServer:
    return hosts.start("host")


@pytest.fixture
async def client(host: WebServer) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(host) as client:
        yield client


async def test_ticket_when_sent_then_its_result_is_there_a_little_later(
    client: httpx.AsyncClient, ai: httpx.AsyncClient
) -> None:
    accepted = await send_ticket(client)

    job = await finished(client, accepted["job_id"])

    assert accepted["state"] == "queued"
    assert (job["state"], job["attempts"], job["progress"], job["last_error"]) == ("succeeded", 1, 100, None)
    assert [step["name"] for step in job["steps"]] == ["classify", "draft_reply", "embed"]
    assert job["result"]["team"] == "billing"
    assert job["result"]["draft_reply"].startswith('Thank you for your message about "Charged twice"')
    assert await calls_for(ai, job["job_id"]) == EACH_STEP_ONCE
    ticket = (await client.get(f"/v1/tickets/{accepted['ticket_id']}")).json()
    assert (ticket["ai_state"], ticket["team"], ticket["priority"]) == ("succeeded", "billing", 1)


async def test_twenty_tickets_when_sent_at_once_then_each_is_done_once(
    client: httpx.AsyncClient, ai: httpx.AsyncClient
) -> None:
    accepted = await asyncio.gather(*(send_ticket(client, f"C-00{number}") for number in range(30, 50)))
    job_ids = {ticket["job_id"] for ticket in accepted}

    jobs = [await finished(client, job_id) for job_id in job_ids]

    assert len(job_ids) == 20
    assert [outcomes(job) for job in jobs] == [["succeeded"]] * 20
    assert [await calls_for(ai, job_id) for job_id in job_ids] == [EACH_STEP_ONCE] * 20


async def test_report_when_asked_for_then_its_page_opens_in_a_browser(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/jobs", json={"task": "What was the week like?", "workspace_id": "team_42"})
    assert answer.status_code == 202, answer.text

    job = await finished(client, answer.json()["job_id"])

    assert (job["kind"], job["state"], job["progress"]) == ("support_report", "succeeded", 100)
    assert job["result"]["summary"].startswith("Top issues were ")
    page = await client.get(job["result"]["artifact_url"])
    assert (page.status_code, page.headers["content-type"].split(";")[0]) == (200, "text/html")
    assert page.headers["x-content-type-options"] == "nosniff"


async def test_message_when_it_comes_six_times_then_the_work_is_done_once(
    client: httpx.AsyncClient, ai: httpx.AsyncClient, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--provider", str(ai.base_url), "--queue", site.queue, "--storage", site.storage]

    exit_code = await duplicates.main(duplicates.parse_arguments(where), client)

    assert exit_code == 0
    verdict = r"succeeded after 6 messages, 1 run\(s\), provider calls: classify 1, draft_reply 1, embed 1. Done once."
    assert re.search(verdict, capsys.readouterr().out)


async def test_customers_when_some_are_impatient_then_the_summary_tells_tickets_from_repeats(
    client: httpx.AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = customers.parse_arguments(["--rate", "20", "--seconds", "1", "--repeats", "0.2", "--seed", "1"])

    exit_code = await customers.main(asked, client)

    assert exit_code == 0
    summary, latency = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"24 requests in \d+\.\d s: 20 accepted, 4 replayed, 0 refused, 0 without an answer", summary)
    assert re.fullmatch(r"latency: p50 \d+ ms, p95 \d+ ms, p99 \d+ ms, max \d+ ms", latency)
