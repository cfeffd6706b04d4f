"""The stage: Postgres, Azurite, the provider and two supervised hosts, on free ports, with times made short.

The settings keep the contract's proportions: a lease is some provider timeouts long, a retry's cap some leases.
"""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import psycopg

from migrations.__main__ import migrate
from simulator.shop import make_customers
from simulator.stack.azurite import Azurite
from simulator.stack.functions_host import functions_program
from simulator.stack.local_settings import app_environment
from simulator.stack.places import LOCAL_SETTINGS_EXAMPLE
from simulator.stack.ports import LOOPBACK, free_ports
from simulator.stack.postgres import Postgres
from simulator.stack.process import Process, Program
from simulator.stack.supervisor import Supervisor
from simulator.stack.web_server import WebServer
from tests.chaos import witness

HOSTS = 2
LEASE_S = 6.0
CHAT_RPM = 600
QUEUES = ("tickets", "reports", "webhooks")
POISON_QUEUES = tuple(f"{queue}-poison" for queue in QUEUES)

SETTINGS = {
    "TICKET_QUEUE": "tickets",
    "REPORT_QUEUE": "reports",
    "WEBHOOK_QUEUE": "webhooks",
    "WEBHOOK_SECRET": "whsec_" + base64.b64encode(b"a secret of the chaos suite alone").decode(),
    "WEBHOOK_ALLOW_PRIVATE": "true",
    "JOB_LEASE_SECONDS": f"{LEASE_S:g}",
    "JOB_MAX_ATTEMPTS": "4",
    "RETRY_BASE_SECONDS": "0.3",
    "RETRY_CAP_SECONDS": "8",
    "PROVIDER_TIMEOUT": "3",
    "PROVIDER_CHAT_RPM": f"{CHAT_RPM}",
    "PROVIDER_CHAT_BURST": "60",
    "PROVIDER_CHAT_TPM": "0",
    "LANE_PAUSE_MAX_SECONDS": "20",
    "QUEUE_MAX": "300",
    "RATE_LIMIT_PER_MINUTE": "20",
    "DRAIN_SECONDS": "3",
    "RELAY_SCHEDULE": "* * * * * *",
    "SWEEP_SCHEDULE": "*/5 * * * * *",
    "SIMULATOR_HOST_STOP_SECONDS": "4",
    "SIMULATOR_HOST_DRAIN_SECONDS": "4",
    "PROVIDER_SIM_RPM": f"{CHAT_RPM}",
    "PROVIDER_SIM_BURST": "60",
    "PROVIDER_SIM_TPM": "0",
    "PROVIDER_SIM_LATENCY_FACTOR": "0.3",
}
# The servers are killed, the machine is not: what a process has written is there when it comes back.
POSTGRES_SETTINGS = {"fsync": "off", "full_page_writes": "off"}


class Stage:
    """`async with Stage(folder) as stage`: everything is up, customers are known, the witness looks on."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o711)  # the account that root lends Postgres passes through
        self.supervisor = Supervisor(say)
        self.postgres = Postgres(folder / "postgres", settings=POSTGRES_SETTINGS)
        self.azurite = Azurite(folder / "azurite")
        provider_port, *host_ports = free_ports(1 + HOSTS)
        addresses = {
            "DATABASE_URL": self.postgres.url,
            "AzureWebJobsStorage": self.azurite.connection_string,
            "JobsQueue": self.azurite.connection_string,
            "PROVIDER_URL": f"http://{LOOPBACK}:{provider_port}/v1",
        }
        environment = app_environment({**os.environ, **SETTINGS, **addresses}, {}, own=LOCAL_SETTINGS_EXAMPLE)
        provider = Program(
            "provider",
            (sys.executable, "-m", "simulator.provider", "--port", str(provider_port)),
            folder / "provider.log",
            environment,
        )
        self.provider = WebServer(provider, provider_port, setting="", ready_path="/simulator/mode")
        self.hosts = tuple(
            WebServer(
                functions_program("local", port, environment, folder / f"host-{number}.log"),
                port,
                setting="",
                ready_path="/v1/health/live",
            )
            for number, port in enumerate(host_ports, 1)
        )

    async def __aenter__(self) -> Self:
        try:
            await asyncio.gather(asyncio.to_thread(self._start_database), asyncio.to_thread(self.azurite.start))
            await asyncio.gather(*(asyncio.to_thread(server.start) for server in (self.provider, *self.hosts)))
        except BaseException:
            await asyncio.to_thread(self._stop)
            raise
        for host in self.hosts:
            self.supervisor.watch(host.process)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._stop)

    async def stop_hosts(self) -> None:
        """Stop both hosts politely, for good."""
        await asyncio.to_thread(self.supervisor.stop)

    async def set_provider(self, weather: dict[str, object]) -> None:
        """Change how the provider treats calls; what is left out is as at the start."""
        async with httpx.AsyncClient(base_url=self.provider.url, timeout=10) as client:
            (await client.put("/simulator/mode", json=weather)).raise_for_status()

    async def hosts_answer(self, *, within_s: float) -> None:
        """Wait until both hosts do. Raises TimeoutError."""
        await asyncio.gather(*(self._answers(host, within_s) for host in self.hosts))

    async def _answers(self, host: WebServer, within_s: float) -> None:
        async with asyncio.timeout(within_s), httpx.AsyncClient(base_url=host.url, timeout=2) as client:
            while True:
                try:
                    if (await client.get("/v1/health/ready")).is_success:
                        return
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.2)

    def _start_database(self) -> None:
        self.postgres.start()
        migrate(self.postgres.url, say=False)
        with psycopg.connect(self.postgres.url, autocommit=True) as connection:
            witness.install(connection)
            for customer in make_customers():
                connection.execute(
                    "INSERT INTO customers (customer_id, name, workspace_id) VALUES (%s, %s, %s)",
                    (customer.customer_id, customer.name, customer.workspace_id),
                )

    def _stop(self) -> None:
        self.supervisor.stop()
        for server in (*self.hosts, self.provider, self.azurite, self.postgres):
            thaw(server.process)
            server.stop()


def freeze(process: Process) -> None:
    """Let a process and its children stand still, as a machine does that has no time for them."""
    if process.pid is not None and process.running:
        os.killpg(process.pid, signal.SIGSTOP)


def thaw(process: Process) -> None:
    """Let it go on, with a clock that did not stand still."""
    if sys.platform != "win32" and process.pid is not None and process.running:
        os.killpg(process.pid, signal.SIGCONT)


def kill_children(process: Process) -> None:
    """Kill what a process has started, such as a host's Python worker, and let itself live. Only Linux tells who."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for pid in children.read_text().split() if children.exists() else ():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
