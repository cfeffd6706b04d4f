"""The page for everybody: with a key, by keyboard alone, with a screen reader, on a phone, with a mistyped link."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from importlib import resources

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from benchmarks.site import Site
from simulator.stack.web_server import WebServer
from tests.browser.conftest import SETTINGS
from tests.browser.visitor import Visitor, visit
from tests.e2e.hosts import finished, send_ticket

pytestmark = pytest.mark.asyncio(loop_scope="package")

KEY = "the-function-key"
AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
FAULTS = """
async only => (await axe.run(document, {resultTypes: ['violations'], iframes: false, ...only})).violations
    .filter(({impact}) => ['serious', 'critical'].includes(impact))
    .map(({id, nodes}) => [id, nodes.map(({html, failureSummary}) => `${html} ${failureSummary}`)])
"""


@pytest.fixture(scope="module")
def guarded(site: Site) -> Iterator[WebServer]:
    """The same app, which wants its key, as in Azure."""
    with site.make_host("guarded", "--enableAuth", settings=SETTINGS | {"SIMULATOR_HOST_FUNCTION_KEY": KEY}) as host:
        yield host


@pytest_asyncio.fixture(loop_scope="package")
async def stranger(browser: Browser, guarded: WebServer) -> AsyncIterator[Visitor]:
    """Somebody at the page who has not given a key yet."""
    async with visit(browser, guarded.url) as visitor:
        yield visitor
        visitor.has_met_nothing_strange()


@pytest_asyncio.fixture(loop_scope="package")
async def places(client: httpx.AsyncClient) -> list[str]:
    """Every place of the page, with something to see."""
    ticket = await send_ticket(client, "C-0022")
    await finished(client, ticket["job_id"])
    ticket_place, job_place = f"#/tickets/{ticket['ticket_id']}", f"#/jobs/{ticket['job_id']}"
    return ["#/", "#/jobs", job_place, "#/tickets", "#/tickets/new", ticket_place, "#/reports", "#/nowhere"]


async def test_key_when_wanted_then_asked_once_and_never_in_an_address(stranger: Visitor) -> None:
    page = stranger.page
    await page.goto(stranger.url)  # the bare address leads to the page, without a key
    await expect(page).to_have_url(f"{stranger.url}/dashboard")
    await page.get_by_role("textbox", name="Function key").fill("a wrong one")
    await page.get_by_role("textbox", name="Function key").fill("wrong")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("alert").filter(has_text="refused that key")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Function key")).to_be_focused()
    await expect(page.get_by_role("textbox", name="Function key")).to_have_value("")
    await page.get_by_role("textbox", name="Function key").fill(KEY)
    await page.keyboard.press("Enter")
    await expect(page.locator("#sentence")).to_be_visible()
    await page.reload()
    await expect(page.locator("#sentence")).to_be_visible()
    await page.get_by_role("link", name="Jobs", exact=True).click()
    await expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Function key")).to_have_count(0)
    assert not [request.url for request in stranger.requests if KEY in request.url or "wrong" in request.url]


async def test_key_when_refused_amid_an_action_then_asked_above_the_dialog_and_the_action_goes_on(
    stranger: Visitor, dead_letters: list[int]
) -> None:
    page = await stranger.open(f"#/jobs/{dead_letters[0]}")
    key = page.get_by_role("textbox", name="Function key")
    await key.fill(KEY)
    await key.press("Enter")
    await page.get_by_role("button", name="Discard").click()
    await page.get_by_label("Your name").fill("mei")
    await page.evaluate("sessionStorage.setItem('larkfield.key', 'taken-back')")
    await page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    await expect(key).to_be_focused()
    for _ in range(3):
        await page.keyboard.press("Escape")
    await expect(key).to_be_focused()
    await key.fill(KEY)
    await key.press("Enter")
    await expect(stranger.said()).to_have_text(f"Job {dead_letters[0]} is discarded.")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_page_when_the_key_is_asked_for_then_axe_finds_nothing_serious(stranger: Visitor) -> None:
    page = await stranger.open()
    await expect(page.get_by_role("textbox", name="Function key")).to_be_visible()
    await page.evaluate(AXE)
    assert await page.evaluate(FAULTS, {}) == []


@pytest.mark.parametrize(("scheme", "rules"), [("light", {}), ("dark", {"runOnly": ["color-contrast"]})])
async def test_every_place_then_axe_finds_nothing_serious(
    browser: Browser, host: WebServer, places: list[str], scheme: str, rules: dict[str, list[str]]
) -> None:
    async with visit(browser, host.url, color_scheme=scheme, reduced_motion="reduce") as visitor:
        page = await visitor.open()
        await page.evaluate(AXE)
        for place in places:
            await visitor.go(place)
            assert await page.evaluate(FAULTS, rules) == [], place


async def test_every_place_when_360_px_wide_then_nothing_sticks_out(
    browser: Browser, host: WebServer, places: list[str]
) -> None:
    async with visit(browser, host.url, viewport={"width": 360, "height": 740}, is_mobile=True) as visitor:
        page = await visitor.open()
        for place in places:
            await visitor.go(place)
            assert await page.evaluate("document.documentElement.scrollWidth") <= 360, place


async def test_keyboard_alone_when_used_then_leads_from_the_first_key_to_a_job(
    visitor: Visitor, places: list[str]
) -> None:
    page = await visitor.open("#/jobs")
    await expect(page.get_by_role("row").nth(1)).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#main")).to_be_focused()
    assert page.url.endswith("#/jobs")
    for _ in range(20):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.matches('.row-link')"):
            break
    job = await page.evaluate("document.activeElement.textContent")
    await page.keyboard.press("Enter")
    heading = page.get_by_role("heading", level=1, name=job)
    await expect(heading).to_be_focused()
    await page.go_back()
    await expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()


NOWHERE = {
    "#/nowhere": "There is no such page",
    "#/jobs/99999999": "There is no job 99999999.",
    "#/jobs/none": "There is no such job.",
    "#/tickets/T-999999": "There is no ticket T-999999.",
    "#/tickets/%E0%A4%A": "There is no such ticket.",
    "#/jobs?state=sleeping": "That is no filter of this list",
    "#/jobs?after=yesterday": "is not a cursor of this list",
    "#/tickets?team=none": "That is no filter of this list",
    "#/jobs?workspace_id=team_99": "No job fits",
}


async def test_link_when_it_leads_to_nothing_then_said_in_words(visitor: Visitor) -> None:
    page = await visitor.open()
    for place, words in NOWHERE.items():
        await visitor.go(place)
        await expect(page.locator("#main")).to_contain_text(words)
        await expect(page.locator("#main").get_by_role("link").last).to_be_visible()
