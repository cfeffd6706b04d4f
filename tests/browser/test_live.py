"""A page that stays open: what a refresh must not disturb, a tab that nobody sees, a server that goes away."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import pairwise

import httpx
import pytest
from playwright.async_api import Locator, Page, TimeoutError, expect

from simulator.stack.web_server import WebServer
from tests.browser.visitor import PATIENCE_MS, Visitor
from tests.e2e.hosts import finished, send_ticket

pytestmark = pytest.mark.asyncio(loop_scope="package")

SELECTED = "() => String(getSelection())"
SELECT = """
element => {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}
"""
CLOCK_AHEAD = """
const Real = Date;
const ahead_ms = 3 * 3_600_000;
Date = class extends Real {
    constructor(...given) { super(...(given.length ? given : [Real.now() + ahead_ms])); }
    static now() { return Real.now() + ahead_ms; }
};
"""
NO_SOONER_MS = 1800  # than 2 s after the last answer


async def shown_number(page: Page, name: str) -> int:
    return int((await page.locator(f"#number-{name}").inner_text()).replace(",", ""))


async def top_of(element: Locator) -> float:
    box = await element.bounding_box()
    assert box is not None
    return box["y"]


async def test_overview_when_a_ticket_comes_then_numbers_move_by_themselves(
    visitor: Visitor, client: httpx.AsyncClient
) -> None:
    page = await visitor.open()
    await expect(page.locator("#sentence")).to_be_visible()
    before = await shown_number(page, "done")
    for _ in range(3):
        await finished(client, (await send_ticket(client))["job_id"])
    await expect(page.locator("#number-done")).not_to_have_text(str(before))
    await expect(page.get_by_role("img", name=re.compile("in the last"))).to_be_visible()


async def test_list_when_refreshed_then_focus_selection_scroll_and_typed_text_stay(
    visitor: Visitor, client: httpx.AsyncClient
) -> None:
    for _ in range(12):
        last = await send_ticket(client, "C-0033")
    await finished(client, last["job_id"])
    await visitor.page.set_viewport_size({"width": 1000, "height": 420})
    page = await visitor.open("#/tickets?customer_id=C-0033")
    row = page.get_by_role("row").filter(has_text=last["ticket_id"])
    await expect(row).to_contain_text("Succeeded")
    await page.get_by_label("Workspace").press_sequentially("half a na")
    await row.locator(".subject").evaluate(SELECT)
    await page.evaluate("scrollTo(0, 180)")
    top = await top_of(row)

    new = await send_ticket(client, "C-0033")
    await expect(page.get_by_role("row").filter(has_text=new["ticket_id"])).to_contain_text("Succeeded")
    await visitor.refreshes(2)

    await expect(page.get_by_label("Workspace")).to_be_focused()
    await expect(page.get_by_label("Workspace")).to_have_value("half a na")
    assert await page.evaluate(SELECTED) == "Charged twice"
    assert await top_of(row) == pytest.approx(top, abs=2)


async def test_job_when_refreshed_then_an_open_panel_stays_open(visitor: Visitor, client: httpx.AsyncClient) -> None:
    job = await finished(client, (await send_ticket(client))["job_id"])
    page = await visitor.open(f"#/jobs/{job['job_id']}")
    await page.get_by_text("From a terminal").click()
    await visitor.hide(True)
    await visitor.hide(False)
    await visitor.refreshes(1)
    await expect(page.get_by_text(f"curl {visitor.url}/v1/jobs/{job['job_id']}")).to_be_visible()


async def test_tab_when_nobody_sees_it_then_asks_nothing_and_at_once_when_seen(visitor: Visitor) -> None:
    page = await visitor.open()
    await visitor.refreshes(1)
    await visitor.hide(True)
    with pytest.raises(TimeoutError):
        await page.wait_for_event("request", lambda request: "/v1/" in request.url, timeout=2 * NO_SOONER_MS)
    async with page.expect_request("**/v1/queue", timeout=NO_SOONER_MS / 2):
        await visitor.hide(False)


async def test_overview_then_one_question_every_two_seconds(visitor: Visitor) -> None:
    await visitor.open()
    await visitor.refreshes(3)
    asked = [request for request in visitor.requests if "/v1/" in request.url]
    times = [request.timing["startTime"] for request in asked]
    assert {request.url for request in asked} == {f"{visitor.url}/v1/queue"}
    assert min(later - earlier for earlier, later in pairwise(times)) > NO_SOONER_MS, times


async def test_server_when_away_and_back_then_said_and_the_page_goes_on_by_itself(
    visitor: Visitor, host: WebServer
) -> None:
    page = await visitor.open("#/tickets")
    first = page.get_by_role("row").nth(1)
    await expect(first).to_contain_text("T-")
    known = await first.inner_text()
    notice = page.get_by_role("alert").filter(has_text="The server can’t be reached.")
    host.stop()
    try:
        await expect(notice).to_contain_text("Trying again")
        box = await notice.bounding_box()
        assert box is not None
        assert await top_of(page.get_by_role("heading", level=1)) >= box["y"] + box["height"], "it covers nothing"
        await expect(notice).to_contain_text(re.compile(r"For \d+ s now"))
        assert (await first.inner_text()).split("\n")[0] == known.split("\n")[0]
    finally:
        host.start()
    await expect(notice).to_be_hidden(timeout=2 * PATIENCE_MS)
    await expect(page.locator("#updated")).to_contain_text("Updated")


async def test_ages_when_the_browsers_clock_is_wrong_then_they_are_the_servers(
    visitor: Visitor, client: httpx.AsyncClient
) -> None:
    hours = {f"{datetime.now():%H}"}
    ticket = await send_ticket(client)
    await visitor.page.add_init_script(CLOCK_AHEAD)
    page = await visitor.open("#/tickets")
    row = page.get_by_role("row").filter(has_text=ticket["ticket_id"])
    await expect(row.locator("time")).to_have_text(re.compile(r"just now|^\d+ s ago"))
    updated = await page.locator("#updated").inner_text()
    hours.add(f"{datetime.now():%H}")
    assert updated.removeprefix("Updated ").partition(":")[0] in hours
