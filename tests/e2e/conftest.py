"""The whole system for the tests of this folder: real servers, a provider and hosts as processes of their own."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from benchmarks.site import Site, make_database, make_provider
from simulator.stack.azurite import Azurite
from simulator.stack.postgres import Postgres
from simulator.stack.web_server import WebServer
from tests.e2e.hosts import Hosts


@pytest.fixture(scope="package")
def provider_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A provider that answers at once and knows no quota."""
    folder = tmp_path_factory.mktemp("provider")
    with make_provider(folder, {"rpm": 0, "tpm": 0, "latency_factor": 0}) as server:
        yield server


@pytest.fixture
async def ai(provider_server: WebServer) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the provider, whose weather is fine again and whose counters are at zero."""
    async with httpx.AsyncClient(base_url=provider_server.url) as client:
        await client.post("/simulator/reset")
        yield client


@pytest.fixture(scope="module")
def site(
    request: pytest.FixtureRequest,
    postgres: Postgres,
    azurite: Azurite,
    provider_server: WebServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Site:
    """This module's own place: no other module's host sees its database or its queues."""
    name = request.module.__name__.rpartition("_")[2]
    folder: Path = tmp_path_factory.mktemp(name)
    return Site(name, make_database(postgres.url, name), azurite.connection_string, provider_server.url, folder)


@pytest.fixture(scope="module")
def hosts(site: Site) -> Iterator[Hosts]:
    """Starts hosts for this module's tests, and stops what still runs after the last of them."""
    with ExitStack() as running:
        yield Hosts(site, running)
