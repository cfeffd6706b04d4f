"""The operators' pages: dead letters found and retried, reports approved, and somebody who was faster."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Error, Page, Route, expect

from simulator.stack.web_server import WebServer
from tests.browser.visitor import Visitor, visit
from tests.e2e.hosts import finished, job_of
from tests.stage import until

pytestmark = pytest.mark.asyncio(loop_scope="package")

NOTE_TITLES = """
() => {
    window.titles = [];
    const note = () => titles.push(document.querySelector('h1').textContent);
    const main = document.querySelector('main');
    new MutationObserver(note).observe(main, {subtree: true, childList: true, characterData: true});
}
"""
REPORT = {"task": "Weekly support report", "workspace_id": "team_7", "require_approval": True}


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
    await expect(visitor.said()).not_to_contain_text("to retry")  # the dialog says it
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
    await expect(page.get_by_role("heading", level=1)).to_be_focused()  # its button is gone
    assert (await job_of(client, dead_letters[0]))["discarded_by"] == "mei"


async def test_dialog_when_somebody_goes_back_then_it_is_closed_and_nothing_done(
    visitor: Visitor, client: httpx.AsyncClient, dead_letters: list[int]
) -> None:
    page = await visitor.open("#/jobs")
    await visitor.go(f"#/jobs/{dead_letters[0]}")
    await page.get_by_role("button", name="Discard").click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    assert (await job_of(client, dead_letters[0]))["state"] == "dead_letter"


async def test_job_when_an_older_answer_comes_after_a_retry_then_it_is_not_shown(
    visitor: Visitor, dead_letters: list[int]
) -> None:
    page = await visitor.open(f"#/jobs/{dead_letters[0]}")
    await expect(page.get_by_role("button", name="Retry")).to_be_visible()
    asked, retried = asyncio.Event(), asyncio.Event()

    async def answer_late(route: Route) -> None:
        if asked.is_set():
            await route.continue_()
            return
        old = await route.fetch()
        asked.set()
        await retried.wait()
        with suppress(Error):  # the page does not want it any more
            await route.fulfill(response=old)

    await page.route(f"**/v1/jobs/{dead_letters[0]}", answer_late)
    await page.evaluate(NOTE_TITLES)
    await visitor.hide(False)
    await asked.wait()
    await page.get_by_role("button", name="Retry").click()
    await expect(visitor.said()).to_contain_text("is queued again")
    retried.set()
    await expect(page.get_by_role("heading", level=1).get_by_text("Succeeded")).to_be_visible()
    assert not [title for title in await page.evaluate("titles") if "Dead letter" in title]


async def test_bulk_retry_when_jobs_come_back_at_once_then_it_ends_with_the_number_that_was_shown(
    visitor: Visitor, dead_letters: list[int]
) -> None:
    limits = []

    async def never_empty(route: Route) -> None:
        asked: dict[str, Any] = json.loads(route.request.post_data or "")
        if "limit" in asked:
            limits.append(asked["limit"])
        await route.fulfill(json={"retried": asked.get("limit", 0), "remaining": 214})

    await visitor.page.route("**/v1/dead-letters/retry", never_empty)
    page = await visitor.open("#/jobs?state=dead_letter")
    await page.get_by_role("button", name="Retry all of these").click()
    await page.get_by_role("dialog").get_by_role("button", name="Retry 214").click()
    await expect(visitor.said()).to_contain_text("214 jobs queued again")
    assert limits == [100, 100, 14]


async def test_report_when_started_watched_and_approved_then_there_to_be_read(
    visitor: Visitor, ai: httpx.AsyncClient
) -> None:
    await ai.put("/simulator/mode", json={"fixed_seconds": 0.3})
    page = await visitor.open("#/reports")
    await page.get_by_label("Workspace").fill("team_7")
    await page.get_by_role("button", name="Start report").click()
    await expect(page.get_by_role("progressbar")).to_be_visible()
    await expect(page.get_by_text(re.compile(r"Batch 1 of \d"))).to_be_visible()
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
