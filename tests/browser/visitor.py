"""Somebody who looks at the page, and notes what they must never see: script errors, requests to somebody else."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Locator, Page, Request, expect

PATIENCE_MS = 15_000

# What the browser itself says of an answer that is no 2xx, or of none: the page tells people in its own words.
OF_THE_BROWSER = "Failed to load resource"

HIDE = """
hidden => {
    Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
    Object.defineProperty(document, 'visibilityState', {value: hidden ? 'hidden' : 'visible', configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
}
"""

expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Visitor:
    """One browser window on one host."""

    page: Page
    url: str
    requests: list[Request] = field(default_factory=list)
    noises: list[str] = field(default_factory=list)

    async def open(self, address: str = "#/") -> Page:
        """Open a place of the page as by its link, or go there within it."""
        await self.page.goto(f"{self.url}/dashboard{address}")
        return self.page

    async def go(self, address: str) -> None:
        """Go to another place of the page that is open, and wait until it is there."""
        old = await self.page.locator(".page").element_handle()
        is_other = address.partition("?")[0] != f"#{urlsplit(self.page.url).fragment.partition('?')[0] or '/'}"
        await self.page.evaluate("address => { location.hash = address; }", address)
        if is_other:
            await self.page.wait_for_function("old => !old.isConnected", arg=old)

    async def hide(self, is_hidden: bool) -> None:
        """Put the tab into the background, or back; headless there is no other tab to go to."""
        await self.page.evaluate(HIDE, is_hidden)

    async def refreshes(self, times: int) -> None:
        """Wait until the page has looked again so often."""
        for _ in range(times):
            async with self.page.expect_response(re.compile("/v1/"), timeout=PATIENCE_MS):
                pass

    def said(self) -> Locator:
        """The sentence that tells what came of an action."""
        return self.page.get_by_role("status").and_(self.page.locator("#said"))

    def has_met_nothing_strange(self) -> None:
        """No script error, nothing refused by the page's policy, no request to anybody else."""
        assert self.noises == []
        strangers = {request.url for request in self.requests if not request.url.startswith(f"{self.url}/")}
        assert strangers == set()


@asynccontextmanager
async def visit(browser: Browser, url: str, **window: Any) -> AsyncIterator[Visitor]:
    """A new window without a past; `window` as in playwright's new_context."""
    async with await browser.new_context(**window) as context:
        visitor = Visitor(await context.new_page(), url)
        visitor.page.set_default_timeout(PATIENCE_MS)

        def hear(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and OF_THE_BROWSER not in message.text:
                visitor.noises.append(message.text)

        visitor.page.on("console", hear)
        visitor.page.on("pageerror", lambda error: visitor.noises.append(str(error)))
        visitor.page.on("dialog", lambda dialog: visitor.noises.append(f"a dialog: {dialog.message}"))
        visitor.page.on("request", lambda request: visitor.requests.append(request))
        yield visitor
