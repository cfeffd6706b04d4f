"""The pieces of the local system in the order they start: storage, provider, schema, data, functions."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping

from simulator.stack.azurite import Azurite, AzuritePorts
from simulator.stack.database import require_vector
from simulator.stack.errors import StackError
from simulator.stack.functions_host import functions_program
from simulator.stack.local_settings import app_environment, own_database_url
from simulator.stack.places import ROOT
from simulator.stack.ports import LOOPBACK, require_free
from simulator.stack.postgres import Postgres
from simulator.stack.process import Program
from simulator.stack.server import Server
from simulator.stack.settings import StackSettings
from simulator.stack.supervisor import Supervisor
from simulator.stack.web_server import WebServer


class LocalStack:
    """Starts the pieces, telling where each one is, and hands them to the supervisor."""

    def __init__(self, settings: StackSettings, supervisor: Supervisor, say: Callable[[str], None] = print) -> None:
        self._settings = settings
        self._supervisor = supervisor
        self._say = say
        self._given_url = settings.database_url or own_database_url()
        self.logs = settings.local_dir / "logs"
        self.functions_url = f"http://{LOOPBACK}:{settings.functions_port}"

    def start(self) -> None:
        """Start everything; raise StackError at the first thing that cannot be had."""
        self._require_free_ports()
        self._put_last_logs_aside()
        database_url = self._start_postgres()
        storage = self._start_azurite()
        provider_url = f"http://{LOOPBACK}:{self._settings.provider_port}"
        addresses = {
            "DATABASE_URL": database_url,
            "AzureWebJobsStorage": storage,
            "JobsQueue": storage,
            "PROVIDER_URL": f"{provider_url}/v1",
        }
        environment = app_environment(os.environ, addresses)
        self._start_provider(environment)
        self._run_module("migrations", environment)
        self._run_module("simulator.data", environment)
        self._start_functions(environment)

    def _start_postgres(self) -> str:
        if self._given_url:
            require_vector(self._given_url)
            self._tell("Postgres", "your own, from DATABASE_URL")
            return self._given_url
        settings = self._settings
        data, log = settings.local_dir / "postgres", self.logs / "postgres.log"
        postgres = Postgres(data, settings.postgres_port, log=log)
        self._keep(postgres)
        require_vector(postgres.url)
        elsewhere = "" if postgres.data == data else f" (its data: {postgres.data})"
        self._tell("Postgres", postgres.url + elsewhere)
        return postgres.url

    def _start_azurite(self) -> str:
        settings = self._settings
        ports = AzuritePorts(settings.azurite_blob_port, settings.azurite_queue_port, settings.azurite_table_port)
        azurite = Azurite(settings.local_dir / "azurite", ports, log=self.logs / "azurite.log")
        self._keep(azurite)
        self._tell("Azurite", f"http://{LOOPBACK}:{ports.blob} (queues {ports.queue}, tables {ports.table})")
        return azurite.connection_string

    def _start_provider(self, environment: Mapping[str, str]) -> None:
        port = self._settings.provider_port
        command = (sys.executable, "-m", "simulator.provider", "--port", str(port))
        program = Program("provider", command, self.logs / "provider.log", environment)
        self._keep(WebServer(program, port, setting="PROVIDER_PORT", ready_path="/simulator/counters"))
        self._tell("Provider", environment["PROVIDER_URL"])

    def _start_functions(self, environment: Mapping[str, str]) -> None:
        port = self._settings.functions_port
        program = functions_program(self._settings.host, port, environment, self.logs / "functions.log")
        self._keep(WebServer(program, port, setting="FUNCTIONS_PORT", ready_path="/v1/health/ready"))
        kind = "the stand-in for func start" if program.command[0] == sys.executable else "func start"
        self._tell("Functions", f"{self.functions_url} ({kind})")

    def _keep(self, server: Server) -> None:
        server.start()
        self._supervisor.watch(server.process)

    def _run_module(self, module: str, environment: Mapping[str, str]) -> None:
        done = subprocess.run(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        for line in done.stdout.splitlines():
            self._tell(module.rpartition(".")[2].capitalize(), line)
        if done.returncode != 0:
            raise StackError(f"python -m {module} failed (exit code {done.returncode}), see the lines above")

    def _require_free_ports(self) -> None:
        settings = self._settings
        require_free(settings.functions_port, "functions host", "FUNCTIONS_PORT")
        require_free(settings.provider_port, "provider", "PROVIDER_PORT")
        require_free(settings.azurite_blob_port, "Azurite", "AZURITE_BLOB_PORT")
        require_free(settings.azurite_queue_port, "Azurite", "AZURITE_QUEUE_PORT")
        require_free(settings.azurite_table_port, "Azurite", "AZURITE_TABLE_PORT")
        if not self._given_url:
            require_free(settings.postgres_port, "Postgres", "POSTGRES_PORT")

    def _put_last_logs_aside(self) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        for log in self.logs.glob("*.log"):
            log.replace(log.with_suffix(".log.last"))

    def _tell(self, what: str, text: str) -> None:
        self._say(f"{what:<11} {text}")
