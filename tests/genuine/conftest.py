"""The genuine worker with the app in it, and all that the app needs around it."""

import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.stack.azurite import Azurite
from simulator.stack.ports import LOOPBACK, answers, free_ports
from simulator.stack.postgres import Postgres
from simulator.stack.process import Process, Program
from simulator.stack.waiting import wait_until
from tests.genuine import plugin
from tests.genuine.genuine_python import environment_of, find_python
from tests.genuine.genuine_worker import GenuineWorker


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Have the summary say so when the worker is not run, unless the session does already."""
    if not config.pluginmanager.has_plugin(plugin.__name__):
        config.pluginmanager.register(plugin, plugin.__name__)


@pytest.fixture(scope="session")
def genuine_python() -> str:
    """The interpreter of an environment with Microsoft's worker library."""
    python = find_python()
    if python is None:
        pytest.skip(plugin.NOT_RUN)
    return environment_of(python)


@pytest.fixture(scope="session")
def provider_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A provider that answers at once and knows no quota, on a port."""
    [port] = free_ports(1)
    weather = os.environ | {"PROVIDER_SIM_RPM": "0", "PROVIDER_SIM_TPM": "0", "PROVIDER_SIM_LATENCY_FACTOR": "0"}
    log: Path = tmp_path_factory.mktemp("provider") / "provider.log"
    command = (sys.executable, "-m", "simulator.provider", "--port", str(port))
    process = Process(Program("provider", command, log, weather))
    process.start()
    try:
        wait_until(lambda: answers(port), deadline_s=20, what="the provider listens")
        yield f"http://{LOOPBACK}:{port}/v1"
    finally:
        process.stop()


@pytest.fixture(scope="module")
def worker(
    genuine_python: str,
    postgres: Postgres,
    azurite: Azurite,
    provider_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GenuineWorker]:
    settings = os.environ | {
        "DATABASE_URL": postgres.url,
        "JobsQueue": azurite.connection_string,
        "TICKET_QUEUE": f"tickets-{secrets.token_hex(4)}",
        "REPORT_QUEUE": f"reports-{secrets.token_hex(4)}",
        "WEBHOOK_QUEUE": f"webhooks-{secrets.token_hex(4)}",
        "PROVIDER_URL": provider_url,
        "PROVIDER_API_KEY": "test-key",
        "LOG_FORMAT": "json",
    }
    with GenuineWorker(genuine_python, settings, log=tmp_path_factory.mktemp("worker") / "worker.log") as running:
        yield running
