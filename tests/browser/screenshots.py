"""`python -m tests.browser.screenshots`: pictures of the page for the README, taken of the whole system at work.

Two minutes: a provider with a quota and bad moments, tickets in waves, a report that waits for somebody.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

import httpx
from playwright.async_api import Browser, Page

from benchmarks.browser import MISSING, binary, open_browser
from benchmarks.load import client_of
from benchmarks.servers import open_site
from simulator.customers import write_tickets
from tests.stage import until

FOLDER = Path(__file__).parents[2] / "docs" / "images"
LARGEST_BYTES = 250_000

WEATHER = {"rpm": 0, "tpm": 0, "latency_factor": 0.7}
SETTINGS = {
    "PROVIDER_CHAT_RPM": "150",
    "PROVIDER_CHAT_BURST": "20",
    "PROVIDER_CHAT_TPM": "0",
    "PROVIDER_TIMEOUT": "2",
    "JOB_MAX_ATTEMPTS": "2",
    "RETRY_BASE_SECONDS": "0.2",
    "RATE_LIMIT_PER_MINUTE": "0",
}
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "device_scale_factor": 1.5}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True}
ENOUGH_DEAD = 4
SETTLED_S = 1.5  # the preview in its frame, similar tickets


async def main() -> int:
    """Write the pictures; 1 without a browser, or if one of them is too large for a repository."""
    if binary() is None:
        print(MISSING, file=sys.stderr)
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open_site(**WEATHER) as site, site.make_host("host", settings=SETTINGS) as host:
        async with (
            client_of(host) as client,
            httpx.AsyncClient(base_url=site.provider_url) as ai,
            open_browser() as browser,
            AsyncExitStack() as windows,
        ):
            overviews = {
                name: await _open(windows, browser, f"{host.url}/dashboard", scheme, size)
                for name, scheme, size in (
                    ("overview-light", "light", DESKTOP),
                    ("overview-dark", "dark", DESKTOP),
                    ("overview-phone-light", "light", PHONE),
                    ("overview-phone-dark", "dark", PHONE),
                )
            }
            await _live_through(client, ai)
            for name, page in overviews.items():
                await _picture(page, name)
            for name, place, scheme, size in await _places(client):
                page = await _open(windows, browser, f"{host.url}/dashboard{place}", scheme, size)
                await asyncio.sleep(SETTLED_S)
                await _picture(page, name)
    return max(path.stat().st_size for path in FOLDER.glob("*.png")) > LARGEST_BYTES


async def _open(windows: AsyncExitStack, browser: Browser, url: str, scheme: str, size: dict[str, Any]) -> Page:
    context = await windows.enter_async_context(await browser.new_context(color_scheme=scheme, **size))  # type: ignore[arg-type]  # playwright wants literals
    page = await context.new_page()
    await page.goto(url)
    await page.locator("h1").wait_for()
    return page


async def _picture(page: Page, name: str) -> None:
    path = FOLDER / f"{name}.png"
    await page.screenshot(path=path)
    print(f"{path.name}: {path.stat().st_size // 1000} KB")


async def _live_through(client: httpx.AsyncClient, ai: httpx.AsyncClient) -> None:
    """Two waves of tickets and a bad moment of the provider between them; the second wave is still there at the end."""
    tickets = iter(write_tickets(400, Random(7)))

    async def send(count: int) -> None:
        for _ in range(count):
            (await client.post("/v1/tickets", json=next(tickets))).raise_for_status()

    await send(45)
    await _until(client, lambda queue: queue["queued"] + queue["running"] == 0)
    await ai.put("/simulator/mode", json={"mode": "garbled", "variant": "content_filter"})
    await send(2)
    await _until(client, lambda queue: queue["failed"] == 2)
    await ai.put("/simulator/mode", json={"mode": "stall", "share": 0.5})
    while await _queue(client, "dead_letter") < ENOUGH_DEAD:
        await send(4)
        await asyncio.sleep(4)
    await ai.put("/simulator/mode", json={"mode": "normal"})
    await client.post("/v1/jobs", json={"task": "Weekly support report", "workspace_id": "team_7"})
    waiting = {"task": "Weekly support report", "workspace_id": "team_42", "require_approval": True}
    await client.post("/v1/jobs", json=waiting)
    await _until(client, lambda queue: queue["waiting_for_approval"] == 1 and queue["queued"] == 0)
    await send(60)
    await asyncio.sleep(16)


async def _places(client: httpx.AsyncClient) -> list[tuple[str, str, str, dict[str, Any]]]:
    """What else there is to see: name, place, colours, window."""

    async def newest(path: str, **filters: str) -> dict[str, Any]:
        item: dict[str, Any] = (await client.get(path, params=filters)).json()["items"][0]
        return item

    dead = await newest("/v1/jobs", state="dead_letter")
    waiting = await newest("/v1/jobs", state="waiting_for_approval")
    done = await newest("/v1/tickets", ai_state="succeeded", team="billing")
    return [
        ("dead-letters-light", "#/jobs?state=dead_letter", "light", DESKTOP),
        ("job-dark", f"#/jobs/{dead['job_id']}", "dark", DESKTOP),
        ("ticket-light", f"#/tickets/{done['ticket_id']}", "light", DESKTOP),
        ("tickets-phone-dark", "#/tickets?ai_state=succeeded", "dark", PHONE),
        ("report-approval-dark", f"#/jobs/{waiting['job_id']}", "dark", DESKTOP),
        ("report-phone-light", f"#/jobs/{waiting['job_id']}", "light", PHONE),
    ]


async def _queue(client: httpx.AsyncClient, number: str) -> int:
    return int((await client.get("/v1/queue")).json()[number])


async def _until(client: httpx.AsyncClient, is_so: Callable[[dict[str, Any]], bool]) -> None:
    async def looks_so() -> bool:
        return is_so((await client.get("/v1/queue")).json())

    await until(looks_so, "the queue is as the pictures need it", within_s=120)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
