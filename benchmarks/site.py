"""A place to run the app on free ports: a database, a storage account, a provider, and as many hosts as wanted."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from migrations.__main__ import migrate
from simulator.data import load
from simulator.stack.functions_host import functions_program
from simulator.stack.local_settings import app_environment
from simulator.stack.places import LOCAL_SETTINGS_EXAMPLE
from simulator.stack.ports import free_ports
from simulator.stack.process import Program
from simulator.stack.web_server import WebServer

WORKER_OFF = {"AzureWebJobs.work_ticket.Disabled": "1"}


@dataclass(frozen=True)
class Site:
    """Where the hosts of one app meet. Sites of different names may share a storage account."""

    name: str
    database_url: str
    storage: str
    provider_url: str
    folder: Path

    @property
    def queue(self) -> str:
        """The queue that announces tickets' jobs."""
        return f"{self.name}-tickets"

    def make_host(self, name: str, *options: str, settings: Mapping[str, str] | None = None) -> WebServer:
        """A host of the app, to be started; its log is `NAME.log` in the site's folder.

        `options` are those of `python -m simulator.host`. All else is as in local.settings.json.example, whatever the
        shell or a local.settings.json says, but for `settings`.
        """
        addresses = {
            "DATABASE_URL": self.database_url,
            "AzureWebJobsStorage": self.storage,
            "JobsQueue": self.storage,
            "TICKET_QUEUE": self.queue,
            "REPORT_QUEUE": f"{self.name}-reports",
            "WEBHOOK_QUEUE": f"{self.name}-webhooks",
            "PROVIDER_URL": f"{self.provider_url}/v1",
            "AzureFunctionsWebHost__hostid": self.name,
        }
        chosen = app_environment({}, addresses, own=LOCAL_SETTINGS_EXAMPLE) | dict(settings or {})
        (port,) = free_ports(1)
        program = functions_program("local", port, os.environ | chosen, self.folder / f"{name}.log")
        program = replace(program, name=name, command=(*program.command, *options))
        return WebServer(program, port, setting="(a free one)", ready_path="/v1/health/ready")

    def has_run(self, host: WebServer, job_id: int) -> bool:
        """Whether this host has begun a run of the job, as its log says."""
        return f"job {job_id}: running (" in host.process.program.log.read_text(encoding="utf-8", errors="replace")


def make_provider(folder: Path, weather: Mapping[str, Any]) -> WebServer:
    """A simulated provider, to be started; `weather` as in simulator.provider.weather."""
    (port,) = free_ports(1)
    asked = {
        f"PROVIDER_SIM_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
        for name, value in weather.items()
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROVIDER_SIM_")}
    command = (sys.executable, "-m", "simulator.provider", "--port", str(port))
    program = Program("provider", command, folder / "provider.log", kept | asked)
    return WebServer(program, port, setting="(a free one)", ready_path="/simulator/counters")


def make_database(server_url: str, name: str) -> str:
    """Make a database of its own with the newest schema and the made-up shop; its address."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    url = f"{server_url.rpartition('/')[0]}/{name}"
    migrate(url, say=False)
    load(url)
    return url
