"""What a person can set about the local stack: ports, the folder, the host and the database."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from simulator.stack.errors import StackError
from simulator.stack.places import ROOT

# name, default, what it is: read from the environment, or from `make run NAME=value`
SETTINGS = (
    ("FUNCTIONS_PORT", "7071", "port of the functions host"),
    ("PROVIDER_PORT", "8300", "port of the simulated AI provider"),
    ("POSTGRES_PORT", "5433", "port of the embedded Postgres"),
    ("AZURITE_BLOB_PORT", "10000", "port of Azurite's blob service"),
    ("AZURITE_QUEUE_PORT", "10001", "port of Azurite's queue service"),
    ("AZURITE_TABLE_PORT", "10002", "port of Azurite's table service"),
    ("LOCAL_DIR", ".local", "folder for the data and the logs"),
    ("HOST", "", "func = Azure Functions Core Tools, local = the stand-in; empty = func if it is there"),
    ("DATABASE_URL", "", "a Postgres of your own, with pgvector; empty = the embedded one"),
)


@dataclass(frozen=True)
class StackSettings:
    """The settings of one running copy; different ports and folders let several copies run side by side."""

    functions_port: int
    provider_port: int
    postgres_port: int
    azurite_blob_port: int
    azurite_queue_port: int
    azurite_table_port: int
    local_dir: Path
    host: str
    database_url: str

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Read the settings; raise StackError that names the one at fault."""
        values = {name: environment.get(name) or default for name, default, _ in SETTINGS}
        ports = {name.lower(): _port(name, value) for name, value in values.items() if name.endswith("_PORT")}
        if len(set(ports.values())) < len(ports):
            raise StackError("two of the ports are the same: " + ", ".join(f"{k} {v}" for k, v in ports.items()))
        return cls(
            **ports,
            local_dir=ROOT / Path(values["LOCAL_DIR"]).expanduser(),
            host=_host(values["HOST"]),
            database_url=values["DATABASE_URL"],
        )


def _port(name: str, value: str) -> int:
    if not value.isdecimal() or not 0 < int(value) < 65_536:
        raise StackError(f"{name} is '{value}': a port is a number from 1 to 65535")
    return int(value)


def _host(value: str) -> str:
    if value == platform.node():  # some shells export the machine's name under HOST
        return ""
    if value not in ("", "func", "local"):
        raise StackError(f"HOST is '{value}': it can be func or local")
    return value
