"""Names that stand for something else: %SETTINGS%, connections, the host's own id (functions-host B4, D8)."""

import platform
import re
from pathlib import Path

from simulator.host.settings import Settings

LONGEST_HOST_ID = 32
DEVELOPMENT_STORAGE = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey="
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;"
    "QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;"
    "TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;"
)

_PLACEHOLDER = re.compile(r"%([^%]+)%")


class UnresolvedName(ValueError):
    """A name in a function's bindings leads nowhere: that function cannot be indexed."""


def resolve_placeholders(text: str, settings: Settings) -> str:
    """Replace each %NAME% by its setting, once. Raises UnresolvedName."""

    def replace(match: re.Match[str]) -> str:
        value = settings.find(match[1])
        if value is None:
            raise UnresolvedName(f"'%{match[1]}%' does not resolve to a value.")
        return value

    return _PLACEHOLDER.sub(replace, text)


def find_connection(name: str | None, settings: Settings) -> str:
    """The connection string behind a binding's `connection`; without one that of AzureWebJobsStorage.

    Raises UnresolvedName, also for an identity-based connection, which the stand-in has no identity for.
    """
    name = name or "Storage"
    candidates = [f"{place}{prefix}{name}" for prefix in ("AzureWebJobs", "") for place in ("ConnectionStrings:", "")]
    for candidate in candidates:
        if text := settings.find(candidate):
            return DEVELOPMENT_STORAGE if is_development_storage(text) else text
    if any(settings.section(candidate) for candidate in candidates):
        raise UnresolvedName(
            f"the connection '{name}' is identity-based; the stand-in has no identity: set a connection string"
        )
    raise UnresolvedName(
        f"Storage account connection string '{candidates[-1] if name != 'Storage' else candidates[1]}' does not exist."
        " Make sure that it is a defined App Setting."
    )


def is_development_storage(connection_string: str) -> bool:
    parts = (part.strip().lower() for part in connection_string.split(";"))
    return "usedevelopmentstorage=true" in parts


def find_host_id(settings: Settings, root: Path) -> str:
    """What the hosts of one app share in storage: set, or made of the machine and the folder (B4)."""
    if chosen := settings.find("AzureFunctionsWebHost__hostid"):
        return chosen
    machine = "".join(filter(str.isalnum, platform.node()))
    return f"{machine}-{abs(_stable_hash(str(root)))}"[:LONGEST_HOST_ID].lower().rstrip("-")


def _stable_hash(text: str) -> int:
    value = 23
    for character in text:
        value = (value * 31 + ord(character)) & 0xFFFFFFFF
    return value - 0x1_0000_0000 if value >= 0x8000_0000 else value
