"""The whole system with a browser before it: one stack and one browser for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
import pytest_asyncio
from playwright.async_api import Browser

from benchmarks import browser as chromium
from benchmarks.site import Site, make_database, make_provider
from simulator.stack.azurite import Azurite
from simulator.stack.postgres import Postgres
from simulator.stack.web_server import WebServer
from tests.browser.visitor import Visitor, visit
from tests.e2e.hosts import NO_QUOTA, client_of

# One attempt, so that one refused call makes a dead letter.
SETTINGS = NO_QUOTA | {"JOB_MAX_ATTEMPTS": "1", "RATE_LIMIT_PER_MINUTE": "0"}

# As three calls that took too long would leave them; real ones would open the breaker for everybody.
DEAD = """
WITH ticket AS (
    INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)
    SELECT customer_id, workspace_id, 'Where is my parcel?', 'It should have been here on Monday.', 'email'
    FROM customers ORDER BY customer_id LIMIT 3 RETURNING ticket_id, workspace_id, customer_id
)
INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s, endpoint, chat_calls_left,
                  state, attempts, run, delivery, started_at, finished_at, last_error)
SELECT 'ticket', 'tickets', ticket_id, workspace_id, 'customer:' || customer_id, 1, 120, 'chat', 2,
       'dead_letter', 1, 1, 2, now(), now(), jsonb_build_object(
           'code', 'provider_timeout', 'message', 'No answer within 10 s.', 'at', now(), 'attempt', 1)
FROM ticket RETURNING job_id
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if chromium.binary() is None:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=chromium.MISSING))


@pytest.fixture(scope="package")
def provider_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A provider that answers at once and knows no quota."""
    folder = tmp_path_factory.mktemp("provider")
    with make_provider(folder, {"rpm": 0, "tpm": 0, "latency_factor": 0}) as server:
        yield server


@pytest.fixture(scope="package")
def site(
    postgres: Postgres, azurite: Azurite, provider_server: WebServer, tmp_path_factory: pytest.TempPathFactory
) -> Site:
    """A database with the made-up shop, and queues of its own; a new one whenever this folder's tests go on after
    others."""
    folder = tmp_path_factory.mktemp("browser")
    database_url = make_database(postgres.url, folder.name)
    return Site(folder.name, database_url, azurite.connection_string, provider_server.url, folder)


@pytest.fixture(scope="package")
def host(site: Site) -> Iterator[WebServer]:
    """The app, open to everybody as on one's own machine."""
    with site.make_host("open", settings=SETTINGS) as host:
        yield host


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser() -> AsyncIterator[Browser]:
    async with chromium.open_browser() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="package")
async def visitor(browser: Browser, host: WebServer) -> AsyncIterator[Visitor]:
    """Somebody at the page, who must meet nothing strange there."""
    async with visit(browser, host.url) as visitor:
        yield visitor
        visitor.has_met_nothing_strange()


@pytest_asyncio.fixture(loop_scope="package")
async def client(host: WebServer) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who uses the API at the same time."""
    async with client_of(host) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="package")
async def ai(provider_server: WebServer) -> AsyncIterator[httpx.AsyncClient]:
    """The provider's controls; its weather is fine again before and after."""
    async with httpx.AsyncClient(base_url=provider_server.url) as client:
        await client.post("/simulator/reset")
        yield client
        await client.post("/simulator/reset")


@pytest.fixture
def dead_letters(site: Site, host: WebServer) -> Iterator[list[int]]:
    """Three dead letters of jobs that would succeed now; none of them is left for others."""
    with psycopg.connect(site.database_url, autocommit=True) as connection:
        job_ids = [job_id for (job_id,) in connection.execute(DEAD)]
    yield job_ids
    for job_id in job_ids:
        httpx.post(f"{host.url}/v1/jobs/{job_id}/discard", json={"discarded_by": "the test"})
