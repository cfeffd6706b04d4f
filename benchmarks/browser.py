"""Debian's Chromium, driven by playwright; playwright's own browsers are not fetched."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

MISSING = "chromium is not installed: the page was not looked at in a browser (Debian: apt-get install chromium)"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def binary() -> str | None:
    """The browser named by CHROMIUM, or the one on PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    """A browser of our own, without a window. Raises FileNotFoundError where there is none."""
    program = binary()
    if program is None:
        raise FileNotFoundError(MISSING)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        await browser.close()
