"""Real servers for the tests that need them, started once a session, and clean again for every test."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import hypothesis
import psycopg
import pytest

from shared import wiring
from shared.db import Database
from shared.recent import Recent
from shared.settings import Settings
from shared.telemetry import OFF
from shared.wiring import App, build
from shared.worker import Worker
from simulator.provider.app import create_app
from simulator.provider.simulation import Simulation
from simulator.provider.weather import Weather
from simulator.stack.azurite import Azurite
from simulator.stack.postgres import Postgres, throw_away_postgres
from tests import pgbouncer
from tests.ears import Ears
from tests.front import Front
from tests.stage import APP_ROLE, Mailroom, make_schema
from tests.tcp_wire import Wire

pytest_plugins = ["tests.genuine.plugin"]

# The same examples every time and however slow the machine is: a change fails for what it changes.
hypothesis.settings.register_profile("suite", derandomize=True, deadline=None)
hypothesis.settings.load_profile("suite")

# DELETE and not TRUNCATE, which makes every table's files anew: 2 ms instead of 35 ms a test. The rest cascades.
EMPTY = """
DELETE FROM jobs; DELETE FROM tickets; DELETE FROM customers; DELETE FROM idempotency_keys; DELETE FROM poison_passes;
ALTER TABLE jobs ALTER COLUMN job_id RESTART;
ALTER TABLE tickets ALTER COLUMN ticket_id RESTART;
ALTER TABLE outbox ALTER COLUMN outbox_id RESTART;
UPDATE provider_lane SET calls = 'infinity', tokens = 'infinity', mean_tokens = 0, paused_until = NULL,
    refusals = 0, since_report = 0;
UPDATE provider_breakers SET is_open = false, failures = 0, trials = 0, opened_at = '-infinity', retry_at = NULL,
    reason = NULL, trial_id = NULL, trial_until = NULL, last_success_at = clock_timestamp(), out_until = '{}';
INSERT INTO customers (customer_id, name, workspace_id)
VALUES ('C-0022', 'Ada Archer', 'team_42'), ('C-0023', 'Ben Baker', 'team_7');
"""


# No quota, rate or queue limit is met unless a test is about it.
UNLIMITED = {
    "PROVIDER_CHAT_RPM": "0",
    "PROVIDER_CHAT_TPM": "0",
    "QUEUE_MAX": "0",
    "RATE_LIMIT_PER_MINUTE": "0",
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "settings(NAME='value', ...): settings of the app, for this test only")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if pgbouncer.binary() is None:
        terminalreporter.write_line(pgbouncer.MISSING, yellow=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A Postgres server with the newest schema, and the app's role with the rights that a deployment gives it."""
    with throw_away_postgres() as server:
        make_schema(server.url)
        yield server


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """The storage emulator."""
    folder: Path = tmp_path_factory.mktemp("azurite")
    with Azurite(folder / "storage") as server:
        yield server


@pytest.fixture
def database_url(postgres: Postgres) -> str:
    """The database, empty but for two customers: C-0022 of team_42 and C-0023 of team_7."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(EMPTY)
    return postgres.url


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """The app's own way to the database."""
    database = Database(database_url, pool_size=10)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def provider() -> Simulation:
    """A provider that answers at once and knows no quota."""
    return Simulation(Weather(rpm=0, tpm=0, latency_factor=0))


@pytest.fixture
async def mailroom(azurite: Azurite) -> AsyncIterator[Mailroom]:
    """The queues, by names of this test's own."""
    async with Mailroom(azurite.connection_string) as room:
        yield room


@pytest.fixture
async def wire(postgres: Postgres) -> AsyncIterator[Wire]:
    """What lies between the app and Postgres in a test that asks for it."""
    async with Wire(postgres.port) as made:
        yield made


@pytest.fixture
def environment(request: pytest.FixtureRequest, database_url: str, mailroom: Mailroom) -> dict[str, str]:
    """The environment of the app under test; `@pytest.mark.settings(JOB_LEASE_SECONDS="1")` changes it."""
    if "wire" in request.fixturenames:
        wire: Wire = request.getfixturevalue("wire")
        database_url = re.sub(r":\d+/", f":{wire.port}/", database_url)
    values = {
        **UNLIMITED,
        "DATABASE_URL": database_url.replace("postgres@", f"{APP_ROLE}@"),
        "DATABASE_PREPARE": "true",
        "JobsQueue": mailroom.connection_string,
        "TICKET_QUEUE": mailroom.tickets,
        "REPORT_QUEUE": mailroom.reports,
        "WEBHOOK_QUEUE": mailroom.webhooks,
        "PROVIDER_URL": "http://provider/v1",
        "PROVIDER_API_KEY": "test-key",
    }
    for marker in reversed(list(request.node.iter_markers("settings"))):
        values |= marker.kwargs
    return values


@pytest.fixture
def settings(environment: dict[str, str]) -> Settings:
    """Settings of the app under test."""
    return Settings.read(environment)


@pytest.fixture
def ears() -> Ears:
    """Who listens to the app in a test that asks for it."""
    return Ears()


@pytest.fixture
async def app(request: pytest.FixtureRequest, settings: Settings, provider: Simulation) -> AsyncIterator[App]:
    """The app, built as the functions build it, with the simulated provider behind its HTTP client."""
    http = httpx.AsyncClient(transport=httpx.ASGITransport(create_app(provider)))
    telemetry = request.getfixturevalue("ears").telemetry if "ears" in request.fixturenames else OFF
    built = await build(settings, http=http, telemetry=telemetry)
    built = replace(built, glance=Recent(built.overview.queue, keep_s=0))  # a test sees at once what it has done
    yield built
    await built.close()


@pytest.fixture
def worker(app: App) -> Worker:
    """The app's worker, but nothing happens by itself after a run: the test says when the relay makes a pass."""
    return replace(app.worker, kick=lambda: None)


@pytest.fixture
def front(app: App, monkeypatch: pytest.MonkeyPatch) -> Front:
    """The app's HTTP functions, at work with the app under test."""
    monkeypatch.setattr(wiring, "_app", app)
    return Front()
