"""The sentence on top of the overview, and what an age is doing: the page's own functions, run in a browser."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from simulator.stack.web_server import WebServer

pytestmark = pytest.mark.asyncio(loop_scope="package")

CLOSED = {"state": "closed", "retry_at": None}
CALM: dict[str, Any] = {
    **dict.fromkeys(("queued", "ready", "running", "waiting_for_approval", "dead_letter", "failed"), 0),
    **dict.fromkeys(("finished_last_minute", "oldest_queued_seconds", "outbox_pending", "outbox_oldest_seconds"), 0),
    "provider": {
        "chat_rpm": 100,
        "calls_available": 40,
        "paused_until": None,
        "reason": None,
        "breakers": {"chat": CLOSED, "embeddings": CLOSED},
    },
    "kinds": {},
}
LATER = "2026-11-30T14:03:22Z"
OPEN = {"chat": {"state": "open", "retry_at": LATER}, "embeddings": CLOSED}
TRIED = {"chat": {"state": "half_open", "retry_at": None}, "embeddings": CLOSED}


def provider(**changes: Any) -> dict[str, Any]:
    return {"provider": CALM["provider"] | changes}


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def page(browser: Browser, host: WebServer) -> Any:
    """Any page of the site can load its modules."""
    async with await browser.new_context(timezone_id="UTC") as context:
        page = await context.new_page()
        await page.goto(f"{host.url}/dashboard/icon.svg")
        yield page


@pytest.mark.parametrize(
    ("changes", "tone", "text"),
    [
        ({}, "calm", "Nothing to do: every job is finished."),
        ({"dead_letter": 1}, "warn", "Nothing is queued; 1 dead letter waits for a decision."),
        (
            {"dead_letter": 3, "waiting_for_approval": 1},
            "warn",
            "Nothing is queued; 3 dead letters wait for a decision and 1 job waits for approval.",
        ),
        ({"waiting_for_approval": 2}, "calm", "Nothing is queued; 2 jobs wait for approval."),
        (
            {"queued": 41, "ready": 41, "running": 3, "finished_last_minute": 53},
            "busy",
            "Working: 41 queued, 3 running, the last one done in about 50 s.",
        ),
        ({"running": 1}, "busy", "Working: 1 running."),
        ({"queued": 1200, "ready": 1200, "running": 4}, "busy", "Working: 1,200 queued, 4 running."),
        ({"queued": 2}, "calm", "2 jobs will be tried again later; nothing is due now."),
        (
            {"queued": 5, "ready": 5, "oldest_queued_seconds": 240},
            "bad",
            "No worker has taken a job for 4 min: 5 jobs ready. Is the worker running?",
        ),
        ({"queued": 5, "ready": 5, "oldest_queued_seconds": 59}, "busy", "Working: 5 queued."),
        (
            {"queued": 5, "ready": 5, "oldest_queued_seconds": 240} | provider(calls_available=0),
            "busy",
            "Working: 5 queued.",
        ),
        (
            {"queued": 7, "outbox_pending": 7, "outbox_oldest_seconds": 300},
            "bad",
            "The outbox is stuck: 7 messages not sent for 5 min. Look at the relay and the storage queue.",
        ),
        (
            {"queued": 90, "running": 3, "outbox_pending": 1, "outbox_oldest_seconds": 300},
            "busy",
            "Working: 90 queued, 3 running.",
        ),
        (
            {"queued": 3} | provider(reason="provider_config: it does not accept PROVIDER_API_KEY.", breakers=OPEN),
            "bad",
            "The provider refuses our key: check PROVIDER_API_KEY. 3 jobs wait, and none loses an attempt.",
        ),
        (
            provider(reason="provider_config: check PROVIDER_URL and the model names.", breakers=OPEN),
            "bad",
            "The provider’s set-up is wrong. No job waits.",
        ),
        (
            {"queued": 1} | provider(reason="provider_unavailable: 503", breakers=OPEN),
            "warn",
            "The provider is in trouble: the next try is at 30 Nov, 14:03:22. 1 job waits, and none loses an attempt.",
        ),
        (provider(breakers=TRIED), "warn", "The provider is in trouble and is being tried. No job waits."),
        (
            {"queued": 41} | provider(paused_until=LATER),
            "warn",
            "Paused until 30 Nov, 14:03:22, as the provider asked. 41 jobs wait, and none loses an attempt.",
        ),
    ],
)
async def test_sentence_says_the_most_pressing_thing(page: Page, changes: dict[str, Any], tone: str, text: str) -> None:
    await page.clock.set_fixed_time("2026-11-29T12:00:00Z")
    said = await page.evaluate(
        "async queue => (await import('/dashboard/sentence.js')).sentence(queue)", CALM | changes
    )
    assert said == {"tone": tone, "text": text}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], "steady"),
        ([5], "steady"),
        ([5, 5, 6], "steady"),
        ([5, 20], "rising"),
        ([100, 104], "steady"),
        ([100, 80], "falling"),
        ([0, *[30] * 40], "steady"),  # what was before the last ten seconds does not count
        ([40, 0, 2, 5, 8, 10, 12], "rising"),
    ],
)
async def test_trend_is_that_of_the_last_ten_seconds(page: Page, values: list[float], expected: str) -> None:
    samples = [{"at": 1_000_000 + 2000 * at, "value": value} for at, value in enumerate(values)]
    assert await page.evaluate("async s => (await import('/dashboard/sentence.js')).trend(s)", samples) == expected
