"""Azurite, the storage emulator: fetched once from its lock file, then run as a process of our own."""

import hashlib
import shutil
from pathlib import Path
from typing import NamedTuple

from simulator.stack.errors import StackError
from simulator.stack.lock import only_one
from simulator.stack.node import Node, find_node
from simulator.stack.places import NPM_PACKAGES, NPM_PINS
from simulator.stack.ports import LOOPBACK, answers, free_ports, require_free
from simulator.stack.process import Process, Program
from simulator.stack.progress import run_step
from simulator.stack.server import Server
from simulator.stack.waiting import wait_until

START_DEADLINE_S = 30
_MAIN = NPM_PACKAGES / "node_modules" / "azurite" / "dist" / "src" / "azurite.js"

# The account and key that every storage emulator has; public knowledge, no secret.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class AzuritePorts(NamedTuple):
    """The ports of its three services."""

    blob: int
    queue: int
    table: int


class Azurite(Server):
    """One emulator and its files: `with Azurite(folder) as azurite: azurite.connection_string`.

    `ports` None means free ones, kept over restarts. What a client was told is stored is on disk after 5 s
    or a polite stop; `kill` loses what is younger.
    """

    def __init__(self, location: Path, ports: AzuritePorts | None = None, *, log: Path | None = None) -> None:
        self.location = location.absolute()
        self.ports = ports or AzuritePorts(*free_ports(3))
        self._log = log or self.location.with_name(f"{self.location.name}.log")
        self.process = Process(self._program(ensure_azurite()))

    @property
    def connection_string(self) -> str:
        endpoints = "".join(
            f"{service.capitalize()}Endpoint=http://{LOOPBACK}:{port}/{ACCOUNT};"
            for service, port in self.ports._asdict().items()
        )
        return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};{endpoints}"

    def prepare(self) -> None:
        """Make sure that the ports are free and the folder is there."""
        for service, port in self.ports._asdict().items():
            require_free(port, f"Azurite's {service} service", f"AZURITE_{service.upper()}_PORT")
        self.location.mkdir(parents=True, exist_ok=True)

    def wait_until_ready(self) -> None:
        """Wait until all three services listen."""

        def ready() -> bool:
            if not self.process.running:
                raise StackError(f"Azurite ended at once, see {self._log}")
            return all(answers(port) for port in self.ports)

        wait_until(ready, deadline_s=START_DEADLINE_S, what="Azurite listens")

    def _program(self, node: Node) -> Program:
        ports = [part for name, port in self.ports._asdict().items() for part in (f"--{name}Port", str(port))]
        return Program(
            name="azurite",
            command=(
                node.interpreter,
                str(_MAIN),
                *("--location", str(self.location), *ports, "--silent"),
                "--disableTelemetry",  # with it on, an offline stop takes up to 20 s
                "--skipApiVersionCheck",  # the SDK speaks a newer version than this Azurite knows
            ),
            log=self._log,
        )


def ensure_azurite() -> Node:
    """Fetch Azurite as the lock file has it, unless it is there, and return the Node to run it with."""
    wanted = hashlib.sha256((NPM_PINS / "package-lock.json").read_bytes()).hexdigest()
    stamp = NPM_PACKAGES / "installed.sha256"
    with only_one(NPM_PACKAGES / "installing.lock"):
        node = find_node()
        if not stamp.exists() or stamp.read_text() != wanted:
            for file in ("package.json", "package-lock.json"):
                shutil.copy(NPM_PINS / file, NPM_PACKAGES / file)
            # No package of it needs its install script, and so nothing here runs code while being fetched.
            quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
            run_step("Fetching Azurite (190 MB unpacked)", [*node.npm, "ci", *quiet], cwd=NPM_PACKAGES)
            stamp.write_text(wanted)
    return node
