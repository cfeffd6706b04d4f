"""The dashboard: its size, the time to its first numbers, and what pages that stay open cost. Linux, with Chromium.

One real page in a browser, for what it loads and asks; then as many clients that ask what it asks, as often, for what
that costs. Statements are counted by Postgres, less those that it counts in as much time with nobody there.
"""

import argparse
import asyncio
import statistics
import time
from typing import TYPE_CHECKING

import httpx
import psycopg

from benchmarks.figures import Figure, at_most
from benchmarks.load import client_of
from benchmarks.servers import open_site
from benchmarks.waiting import Cost, Meter
from shared.pages.folder import DASHBOARD
from simulator.stack.web_server import WebServer

if TYPE_CHECKING:
    from playwright.async_api import Browser, Response

MOST_BYTES = 100_000
MOST_CORE_PERCENT = 5.0
EVERY_S = 2.0
OPENED = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pages", type=int, default=20, help="open at the same time (%(default)s)")
    parser.add_argument("--seconds", type=int, default=30, help="how long they stay (%(default)s)")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    with open_site(rpm=0) as site, site.make_host("host") as host:
        size, first_s, requests = await _look(host, asked.seconds)
        async with client_of(host) as client, await psycopg.AsyncConnection.connect(site.database_url) as connection:
            await connection.set_autocommit(True)
            meter = Meter(connection, host)
            idle = await meter.cost_of(asyncio.sleep(asked.seconds, 0))
            watched = await meter.cost_of(_watch(client, asked.pages, asked.seconds))
    contents = [file.content for file in DASHBOARD.files.values()]
    core_percent = 100 * (watched.cpu_s - idle.cpu_s) / asked.seconds
    return [
        at_most("all files of the page", sum(map(len, contents)), MOST_BYTES, "bytes"),
        Figure("of that before the first numbers", f"{size} bytes"),
        Figure("from opening to the first numbers, median", f"{1000 * first_s:.0f} ms"),
        Figure("requests a minute of an open page", f"{60 * requests / asked.seconds:.0f}"),
        Figure("statements a minute of an open page", f"{_statements_a_minute(watched, idle) / asked.pages:.0f}"),
        at_most(f"workers' CPU for {asked.pages} open pages", core_percent, MOST_CORE_PERCENT, "% of a core"),
    ]


def _statements_a_minute(watched: Cost, idle: Cost) -> float:
    return 60 * (watched.statements_per_s - idle.statements_per_s)


async def _look(host: WebServer, seconds: int) -> tuple[int, float, int]:
    """Bytes and median seconds until the first numbers, and calls of the API in a while."""
    from benchmarks.browser import open_browser  # the other benchmarks need no playwright

    async with open_browser() as browser:
        looks = [await _open(browser, host) for _ in range(OPENED)]
        async with await browser.new_context() as context:
            page = await context.new_page()
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url) if "/v1/" in request.url else None)
            await page.goto(f"{host.url}/dashboard")
            await page.locator("#sentence").wait_for()
            asked.clear()
            await asyncio.sleep(seconds)
    return looks[0][0], statistics.median(took_s for _, took_s in looks), len(asked)


async def _open(browser: "Browser", host: WebServer) -> tuple[int, float]:
    """Bytes and seconds of a first visit until it shows numbers."""
    async with await browser.new_context() as context:
        page = await context.new_page()
        answers: list[Response] = []
        page.on("response", lambda answer: answers.append(answer))
        began = time.monotonic()
        await page.goto(f"{host.url}/dashboard")
        await page.locator("#sentence").wait_for()
        took_s = time.monotonic() - began
        files = {answer.url: answer for answer in answers if "/dashboard" in answer.url}
        return sum([len(await answer.body()) for answer in files.values()]), took_s


async def _watch(client: httpx.AsyncClient, pages: int, seconds: int) -> int:
    """As many pages as that, one a little after the other; how many answers came."""
    began = time.monotonic()
    turns = int(seconds / EVERY_S)

    async def ask(number: int) -> int:
        for turn in range(turns):
            await asyncio.sleep(began + EVERY_S * (turn + number / pages) - time.monotonic())
            (await client.get("/v1/queue")).raise_for_status()
        return turns

    return sum(await asyncio.gather(*map(ask, range(pages))))
