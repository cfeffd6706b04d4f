"""local.settings.json, and how it and the environment make the app's settings (functions-host D7)."""

import json
import platform
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_pascal

from simulator.host.settings import Settings

FILE_NAME = "local.settings.json"


class InvalidLocalSettings(ValueError):
    """The file cannot be used as it is."""


class LocalHost(BaseModel):
    """The file's `Host`: defaults for the command line."""

    model_config = ConfigDict(extra="ignore")

    port: int = Field(default=7071, alias="LocalHttpPort")
    address: str = Field(default="127.0.0.1", alias="LocalHttpAddress")
    cors: str = Field(default="", alias="CORS")
    cors_credentials: bool = Field(default=False, alias="CORSCredentials")


class LocalSettings(BaseModel):
    """The file. `IsEncrypted` left out counts as true for Core Tools, and an encrypted file cannot be read here."""

    model_config = ConfigDict(extra="ignore", alias_generator=to_pascal)

    is_encrypted: bool = True
    values: dict[str, str | int | float | bool | None] = {}
    host: LocalHost = LocalHost()
    connection_strings: dict[str, str | dict[str, str]] = {}


def read_local_settings(root: Path) -> LocalSettings:
    """Read the file; without one the environment alone counts. Raises InvalidLocalSettings."""
    path = root / FILE_NAME
    if not path.is_file():
        return LocalSettings()
    try:
        settings = LocalSettings.model_validate(json.loads(path.read_text("utf-8-sig")))
    except (ValueError, ValidationError) as error:
        raise InvalidLocalSettings(f"{FILE_NAME}: {error}") from error
    if settings.is_encrypted:
        raise InvalidLocalSettings(f'{FILE_NAME} must say "IsEncrypted": false')
    return settings


def gather_settings(
    local: LocalSettings, environ: Mapping[str, str], *, root: Path, address: str
) -> tuple[Settings, list[str]]:
    """The settings of host and worker, and what is to be said about them.

    The environment beats the file unless it is empty; `address` is the host's own, as `localhost:7071`.
    """
    wanted = {name: _text(value) for name, value in local.values.items() if value is not None}
    for name, connection in local.connection_strings.items():
        text = connection if isinstance(connection, str) else connection.get("ConnectionString", "")
        wanted[f"ConnectionStrings:{name}"] = text
    wanted |= {
        "AZURE_FUNCTIONS_ENVIRONMENT": "Development",
        "AzureWebJobsScriptRoot": str(root),
        "WEBSITE_HOSTNAME": address,
        "FUNCTIONS_WORKER_RUNTIME_VERSION": ".".join(platform.python_version_tuple()[:2]),
    }
    kept = [name for name in local.values if environ.get(name)]
    notices = [
        f"Skipping '{name}' from local settings as it's already defined in current environment variables."
        for name in kept
    ]
    return Settings({**wanted, **{k: v for k, v in environ.items() if v or k not in wanted}}), notices


def _text(value: str | int | float | bool) -> str:
    return str(value)
