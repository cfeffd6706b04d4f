"""The API's page in a browser: drawn under its policy, tried with a key, nothing asked of anybody else."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.visitor import Visitor

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def try_queue(page: Page) -> None:
    """Open the call GET /v1/queue and send it."""
    call = page.locator("#operations-queue-show_queue")
    await call.get_by_role("button").first.click()
    await call.get_by_role("button", name="Try it out").click()
    await call.get_by_role("button", name="Execute").click()
    await expect(call.locator(".live-responses-table .response-col_status").first).to_be_visible()


async def test_docs_when_a_call_is_tried_then_its_answer_is_shown_and_the_key_is_sent(visitor: Visitor) -> None:
    page = visitor.page
    await page.goto(f"{visitor.url}/docs")
    await expect(page.get_by_text("Accept a ticket", exact=True)).to_be_visible()

    await page.locator(".auth-wrapper .authorize").first.click()
    await page.locator(".auth-container input").fill("a-key")
    await page.locator(".auth-container").get_by_role("button", name="Apply credentials").click()
    await page.locator(".auth-container").get_by_role("button", name="Close").click()
    async with page.expect_request("**/v1/queue") as asked:
        await try_queue(page)

    assert (await (await asked.value).all_headers())["x-functions-key"] == "a-key"
    answer = page.locator("#operations-queue-show_queue .live-responses-table").first
    await expect(answer).to_contain_text("200")
    await expect(answer).to_contain_text("oldest_queued_seconds")


async def test_docs_when_the_dashboard_has_a_key_then_it_need_not_be_given_again(visitor: Visitor) -> None:
    page = visitor.page
    await page.add_init_script("sessionStorage.setItem('larkfield.key', 'given-before')")
    await page.goto(f"{visitor.url}/docs")
    await expect(page.get_by_text("Accept a ticket", exact=True)).to_be_visible()
    async with page.expect_request("**/v1/queue") as asked:
        await try_queue(page)
    assert (await (await asked.value).all_headers())["x-functions-key"] == "given-before"
