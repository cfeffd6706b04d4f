"""host.json as the host reads it: the file, and the settings that override single values (functions-host D8)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from simulator.host.ncrontab import read_timespan
from simulator.host.settings import Settings

OVERRIDES = "AzureFunctionsJobHost"
SHORTEST_TIMEOUT = timedelta(seconds=1)


class InvalidHostJson(ValueError):
    """The genuine host would not start with this host.json."""


class HttpOptions(BaseModel):
    """`extensions.http`. A limit of -1 is none."""

    model_config = ConfigDict(extra="ignore")

    route_prefix: str = Field(default="api", alias="routeprefix")
    custom_headers: dict[str, str] = Field(default={}, alias="customheaders")
    most_outstanding: int = Field(default=-1, alias="maxoutstandingrequests")
    most_concurrent: int = Field(default=-1, alias="maxconcurrentrequests")


class _Extensions(BaseModel):
    model_config = ConfigDict(extra="ignore")

    http: HttpOptions = HttpOptions()


class _Logging(BaseModel):
    model_config = ConfigDict(extra="ignore")

    levels: dict[str, str] = Field(default={}, alias="loglevel")


class _File(BaseModel):
    """What the host itself reads; the listeners read the rest from the tree."""

    model_config = ConfigDict(extra="ignore")

    version: str = Field(default="", validate_default=True)
    timeout: timedelta | None = Field(default=timedelta(minutes=30), alias="functiontimeout")
    functions: list[str] | None = None
    extensions: _Extensions = _Extensions()
    logging: _Logging = _Logging()

    @field_validator("version")
    @classmethod
    def check_version(cls, version: str) -> str:
        if version != "2.0":
            raise ValueError('must be "2.0"')
        return version

    @field_validator("timeout", mode="before")
    @classmethod
    def read_timeout(cls, text: object) -> timedelta | None:
        if str(text) == "-1":
            return None
        timeout = read_timespan(str(text))
        if timeout is None or timeout < SHORTEST_TIMEOUT:
            raise ValueError("must be a time span of at least 00:00:01, or -1 for none")
        return timeout


@dataclass(frozen=True)
class HostJson:
    """`tree` is the whole content with its names in lower case. No timeout is None, all functions are None."""

    tree: dict[str, Any]
    function_timeout_s: float | None
    functions: frozenset[str] | None
    http: HttpOptions
    log_levels: Mapping[str, str]


def read_host_json(root: Path, settings: Settings) -> HostJson:
    """Read `root`/host.json. Raises InvalidHostJson with every value at fault."""
    path = root / "host.json"
    if not path.is_file():
        raise InvalidHostJson(f"no host.json in {root}: that folder is no function app")
    try:
        tree = _lower_names(json.loads(path.read_text("utf-8-sig")))
        for place, text in settings.section(OVERRIDES).items():
            _override(tree, place.split(":"), text)
        file = _File.model_validate(tree)
    except ValidationError as error:
        raise InvalidHostJson("host.json: " + "; ".join(_complaints(error))) from error
    except ValueError as error:
        raise InvalidHostJson(f"host.json: {error}") from error
    return HostJson(
        tree=tree,
        function_timeout_s=file.timeout.total_seconds() if file.timeout else None,
        functions=frozenset(name.lower() for name in file.functions) if file.functions else None,
        http=file.extensions.http,
        log_levels=file.logging.levels,
    )


def _lower_names(value: Any) -> Any:
    if isinstance(value, dict):
        return {name.lower(): _lower_names(inner) for name, inner in value.items()}
    return value


def _override(tree: dict[str, Any], place: list[str], text: str) -> None:
    *folders, name = place
    if folders == ["functions"] and name.isdecimal():
        tree.setdefault("functions", []).append(text)
        return
    for folder in folders:
        tree = tree.setdefault(folder, {})
        if not isinstance(tree, dict):
            raise ValueError(f"'{folder}' is overridden inside something that is no object")
    tree[name] = text


def _complaints(error: ValidationError) -> Iterator[str]:
    for fault in error.errors():
        yield f"{'.'.join(map(str, fault['loc']))}: {fault['msg']} (it is {fault['input']!r})"
