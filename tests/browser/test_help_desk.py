"""The help desk's pages: a ticket sent and seen to finish, texts that stay texts."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.async_api import Page, Request, Route, expect

from tests.browser.visitor import Visitor
from tests.e2e.hosts import finished, send_ticket

pytestmark = pytest.mark.asyncio(loop_scope="package")

HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script> & "quotes" \u202e'

GAP_AT_THE_RIGHT = """
element => {
    const text = document.createRange();
    text.setStart(element.firstChild, element.textContent.indexOf('\u0645'));
    text.setEnd(element.firstChild, element.textContent.length);
    return element.getBoundingClientRect().right - text.getBoundingClientRect().right;
}
"""


async def fill(page: Page, subject: str, body: str = "Two payments for one order.", customer: str = "C-0022") -> None:
    await page.get_by_label("Customer").fill(customer)
    await page.get_by_label("Subject").fill(subject)
    await page.get_by_label("Message").fill(body)


async def test_ticket_when_sent_twice_in_haste_then_accepted_once_and_seen_to_finish(
    visitor: Visitor, client: httpx.AsyncClient
) -> None:
    page = await visitor.open("#/tickets/new")
    await fill(page, "Charged twice, in haste")
    await page.get_by_role("button", name="Send ticket").dblclick()
    await expect(page.get_by_role("heading", name="Accepted in")).to_be_visible()
    await expect(page.get_by_text("Succeeded", exact=True).first).to_be_visible()
    await expect(page.get_by_text('about "Charged twice, in haste"')).to_be_visible()
    await expect(page.get_by_text("Billing", exact=True)).to_be_visible()
    items = (await client.get("/v1/tickets", params={"customer_id": "C-0022", "limit": 200})).json()["items"]
    assert [item["subject"] for item in items].count("Charged twice, in haste") == 1

    await page.locator("#main").get_by_role("link", name="T-5").click()
    await expect(page.get_by_role("heading", level=1, name="Charged twice, in haste")).to_be_focused()
    await expect(page.get_by_role("heading", name="Draft reply")).to_be_visible()


async def test_ticket_when_no_answer_came_then_sent_again_under_the_same_key(visitor: Visitor) -> None:
    keys = []

    async def lose_the_first(route: Route, request: Request) -> None:
        keys.append(await request.header_value("idempotency-key"))
        if len(keys) == 1:
            await route.fetch()  # it arrives, its answer does not
            await route.abort()
        else:
            await route.continue_()

    await visitor.page.route("**/v1/tickets", lose_the_first)
    page = await visitor.open("#/tickets/new")
    await fill(page, "Is it there?")
    await page.get_by_role("button", name="Send ticket").click()
    await expect(page.get_by_role("alert").filter(has_text="No answer came")).to_be_visible()
    async with page.expect_response("**/v1/tickets") as again:
        await page.get_by_role("button", name="Send ticket").click()
    assert (await (await again.value).all_headers())["idempotent-replayed"] == "true"
    assert len(set(keys)) == 1
    await expect(page.get_by_role("heading", name="Accepted in")).to_be_visible()


async def test_ticket_when_its_customer_is_unknown_then_said_and_nothing_is_lost(visitor: Visitor) -> None:
    page = await visitor.open("#/tickets/new")
    await fill(page, "Hello?", customer="C-9999")
    await page.get_by_role("button", name="Send ticket").click()
    await expect(page.get_by_role("alert").filter(has_text="C-9999")).to_be_visible()
    await expect(page.get_by_label("Subject")).to_have_value("Hello?")


async def test_hostile_text_when_shown_anywhere_then_text_and_nothing_else(
    visitor: Visitor, client: httpx.AsyncClient
) -> None:
    new = {"customer_id": "C-0022", "subject": HOSTILE, "body": f"{HOSTILE}\n{HOSTILE}"}
    accepted = (await client.post("/v1/tickets", json=new)).json()
    await finished(client, accepted["job_id"])
    for address in (
        "#/tickets?customer_id=C-0022",
        f"#/tickets/{accepted['ticket_id']}",
        f"#/jobs/{accepted['job_id']}",
    ):
        page = await visitor.open(address)
        await expect(page.get_by_text('<img src=x onerror="alert(1)">').first).to_be_visible()
        assert await page.locator("main img, main script").count() == 0


async def test_arabic_when_shown_then_it_begins_at_the_right(visitor: Visitor, client: httpx.AsyncClient) -> None:
    new = {
        "customer_id": "C-0022",
        "subject": "\u0645\u0631\u062d\u0628\u0627 12345 ABC",
        "body": "One line.\n\u0645\u0631\u062d\u0628\u0627.",
    }
    accepted = (await client.post("/v1/tickets", json=new)).json()
    page = await visitor.open(f"#/tickets/{accepted['ticket_id']}")
    for place in (page.get_by_role("heading", level=1), page.locator(".prose")):
        assert await place.evaluate(GAP_AT_THE_RIGHT) < 2


async def test_similar_tickets_when_hardly_alike_then_left_out(visitor: Visitor, client: httpx.AsyncClient) -> None:
    accepted = await send_ticket(client)
    await finished(client, accepted["job_id"])
    one = {"ticket_id": "T-500001", "team": None, "created_at": "2026-01-01T00:00:00Z"}
    items = [one | {"subject": "Alike", "similarity": 0.7}, one | {"subject": "Unlike", "similarity": 0.04}]
    await visitor.page.route("**/similar?k=5", lambda route: route.fulfill(json={"items": items}))
    page = await visitor.open(f"#/tickets/{accepted['ticket_id']}")
    await expect(page.get_by_role("link", name="Alike", exact=True)).to_be_visible()
    await expect(page.get_by_text("Unlike")).to_have_count(0)


async def test_page_when_a_script_would_write_html_then_the_browser_refuses(visitor: Visitor) -> None:
    page = await visitor.open()
    with pytest.raises(Exception, match="TrustedHTML"):
        await page.evaluate("document.body.innerHTML = '<b>no</b>'")
    assert all("TrustedHTML" in noise for noise in visitor.noises)
    visitor.noises.clear()


async def test_tickets_when_filtered_then_in_the_address_and_on_the_page(
    visitor: Visitor, client: httpx.AsyncClient
) -> None:
    await finished(client, (await send_ticket(client))["job_id"])
    page = await visitor.open("#/tickets")
    await page.get_by_role("navigation", name="Team").get_by_role("link", name="Billing").click()
    await page.get_by_label("State of the AI work").select_option("succeeded")
    await expect(page).to_have_url(f"{visitor.url}/dashboard#/tickets?team=billing&ai_state=succeeded")
    teams = page.locator("tbody td:nth-child(3)")
    await expect(teams.filter(has_not_text="Billing")).to_have_count(0)
    await expect(teams.first).to_have_text("Billing")


async def test_tickets_when_there_are_many_then_page_by_page_there_and_back(visitor: Visitor) -> None:
    page = await visitor.open("#/tickets?workspace_id=team_42")
    first = page.locator("tbody .row-link").first
    newest = await first.inner_text()
    await page.get_by_role("link", name="Older").click()
    await expect(first).not_to_have_text(newest)
    assert await page.evaluate("scrollY") == 0, "the next page is read from its top"
    await expect(page).to_have_url(re.compile(r"workspace_id=team_42&after="))
    await page.get_by_role("link", name="Newer").click()
    await expect(first).to_have_text(newest)
