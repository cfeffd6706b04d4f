"""The operators' pages: dead letters found and retried, reports approved, and somebody who was faster."""

from __future__ import annotations

import re
from typing import Any

import httpx
import psycopg
import pytest
from playwright.async_api import Browser, Page, expect

from benchmarks.site import Site
from simulator.stack.web_server import WebServer
from tests.browser.visitor import Visitor, visit
from tests.e2e.hosts import finished, job_of
from tests.stage import until

pytestmark = pytest.mark.asyncio(loop_scope="package")

# As three calls that took too long would leave them; real ones would open the breaker for everybody.
DEAD = """
WITH ticket AS (
    INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)
    SELECT customer_id, workspace_id, 'Where is my parcel?', 'It should have been here on Monday.', 'email'
    FROM customers ORDER BY customer_id LIMIT 3 RETURNING ticket_id, workspace_id, customer_id
)
INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s, endpoint, chat_calls_left,
                  state, attempts, run, delivery, started_at, finished_at, last_error)
SELECT 'ticket', 'tickets', ticket_id, workspace_id, 'customer:' || customer_id, 1, 120, 'chat', 2,
       'dead_letter', 1, 1, 2, now(), now(), jsonb_build_object(
           'code', 'provider_timeout', 'message', 'No answer within 10 s.', 'at', now(), 'attempt', 1)
FROM ticket RETURNING job_id
"""
REPORT = {"task": "Weekly support report", "workspace_id": "team_7", "require_approval": True}


@pytest.fixture
def dead_letters(site: Site, host: WebServer) -> list[int]:
    """Three dead letters of jobs that would succeed now."""
    with psycopg.connect(site.database_url, autocommit=True) as connection:
        return [job_id for (job_id,) in connection.execute(DEAD)]


async def waiting_report(client: httpx.AsyncClient) -> int:
    job_id: int = (await client.post("/v1/jobs", json=REPORT)).json()["job_id"]

    async def waits() -> bool:
        job: dict[str, Any] = await job_of(client, job_id)
        return bool(job["state"] == "waiting_for_approval")

    await until(waits, "the report waits for approval", within_s=30)
    return job_id


async def decide(page: Page, verdict: str, name: str, comment: str = "") -> None:
    await page.get_by_label("Your name").fill(name)
    await page.get_by_label("Comment").fill(comment)
    await page.get_by_role("button", name=verdict).click()


async def test_dead_letters_when_found_by_their_error_then_one_and_all_are_retried(
    visitor: Visitor, client: httpx.AsyncClient, dead_letters: list[int]
) -> None:
    page = await visitor.open("#/jobs")
    await page.get_by_role("navigation", name="State").get_by_role("link", name="Dead letter").click()
    await page.get_by_label("Error code").select_option("provider_timeout")
    await expect(page).to_have_url(re.compile("state=dead_letter&error_code=provider_timeout$"))
    rows = page.get_by_role("row").filter(has=page.get_by_role("button", name="Retry job"))
    await expect(rows).to_have_count(3)

    await page.get_by_role("button", name=f"Retry job {dead_letters[0]}").dblclick()
    await expect(visitor.said()).to_have_text(f"Job {dead_letters[0]} is queued again.")
    await expect(rows).to_have_count(2)

    await page.get_by_role("button", name="Retry all of these").click()
    dialog = page.get_by_role("dialog", name="Retry 2 dead letters with provider_timeout?")
    await expect(dialog).to_contain_text("as the provider’s quota allows")
    await dialog.get_by_role("button", name="Retry 2").click()
    await expect(visitor.said()).to_have_text("2 jobs queued again, to go out as the quota allows.")
    await expect(page.get_by_text("No job fits")).to_be_visible()
    assert [(await finished(client, job_id))["state"] for job_id in dead_letters] == ["succeeded"] * 3


async def test_dead_letter_when_discarded_then_by_whom_is_kept(
    visitor: Visitor, client: httpx.AsyncClient, dead_letters: list[int]
) -> None:
    page = await visitor.open(f"#/jobs/{dead_letters[0]}")
    await expect(page.get_by_text("The AI provider took too long").first).to_be_visible()
    await page.get_by_role("button", name="Discard").click()
    await page.get_by_role("dialog").get_by_label("Your name").fill("mei")
    await page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    await expect(visitor.said()).to_have_text(f"Job {dead_letters[0]} is discarded.")
    await expect(page.get_by_text("by mei,")).to_be_visible()
    assert (await job_of(client, dead_letters[0]))["discarded_by"] == "mei"


async def test_report_when_started_watched_and_approved_then_there_to_be_read(
    visitor: Visitor, ai: httpx.AsyncClient
) -> None:
    await ai.put("/simulator/mode", json={"fixed_seconds": 0.3})
    page = await visitor.open("#/reports")
    await page.get_by_label("Workspace").fill("team_7")
    await page.get_by_role("button", name="Start report").click()
    await expect(page.get_by_role("progressbar")).to_be_visible()
    await expect(page.get_by_text("Batch 1 of 3")).to_be_visible()
    draft = page.frame_locator("iframe[title=Preview]")
    await expect(draft.get_by_text("Draft: not approved yet.")).to_be_visible()
    await decide(page, "Approve", "mei", "looks right")
    await expect(visitor.said()).to_contain_text("is approved and goes on")
    await expect(page.get_by_role("heading", level=1).get_by_text("Succeeded")).to_be_visible()
    await expect(page.get_by_text("Approved by mei")).to_contain_text("looks right")
    async with page.expect_popup() as popup:
        await page.get_by_role("link", name="Open the report in its own tab").click()
    await expect((await popup.value).get_by_role("heading", name="Weekly support report")).to_be_visible()


async def test_report_when_two_pages_decide_then_the_second_hears_who_was_faster(
    visitor: Visitor, browser: Browser, host: WebServer, client: httpx.AsyncClient
) -> None:
    job_id = await waiting_report(client)
    async with visit(browser, host.url) as other:
        for page in (await visitor.open(f"#/jobs/{job_id}"), await other.open(f"#/jobs/{job_id}")):
            await expect(page.get_by_role("button", name="Approve")).to_be_visible()
        await other.hide(True)  # it does not hear of the first one's decision by itself
        await decide(visitor.page, "Approve", "mei")
        await expect(visitor.said()).to_contain_text("is approved")
        await decide(other.page, "Reject", "tom")
        await expect(other.said()).to_contain_text(f"Job {job_id} was approved by mei at")
        await other.hide(False)
        await expect(other.page.get_by_role("heading", level=1).get_by_text("Succeeded")).to_be_visible()
        other.has_met_nothing_strange()
