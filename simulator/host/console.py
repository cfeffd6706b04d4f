"""The host's log: one line a record on standard output, filtered by host.json's log levels (functions-host D5, D7)."""

import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "information": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "none": logging.CRITICAL + 1,
}
NAMES = {
    logging.DEBUG: "Debug",
    logging.INFO: "Information",
    logging.WARNING: "Warning",
    logging.ERROR: "Error",
    logging.CRITICAL: "Critical",
}
STAND_INS_OWN = "simulator.host."
LIBRARIES = ("azure", "asyncio", "uvicorn")


class InvalidLogLevel(ValueError):
    """host.json names a level there is none of."""


class LevelFilter(logging.Filter):
    """Lets through what the most specific category of host.json allows, without regard to case."""

    def __init__(self, levels: Mapping[str, str], *, verbose: bool) -> None:
        super().__init__()
        self._levels = dict.fromkeys(LIBRARIES, logging.WARNING)
        for category, level in levels.items():
            if level.lower() not in LEVELS:
                raise InvalidLogLevel(f"host.json: logging.logLevel.{category}: there is no level '{level}'")
            self._levels[category.lower()] = LEVELS[level.lower()]
        if verbose:
            self._levels["host"] = logging.DEBUG
        self._known: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        level = self._known.get(record.name)
        if level is None:
            level = self._known[record.name] = self._find(show_category(record.name).lower())
        return record.levelno >= level

    def _find(self, category: str) -> int:
        while category:
            if category in self._levels:
                return self._levels[category]
            category = category.rpartition(".")[0]
        return self._levels.get("default", logging.INFO)


class LineFormatter(logging.Formatter):
    """`[2026-11-29T20:58:41.123Z] Information Function.name.User: text`, further lines indented."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:-6]
        level = NAMES.get(record.levelno, "Information")
        text = super().format(record).replace("\n", "\n    ")
        return f"[{moment}Z] {level} {show_category(record.name)}: {text}"


def show_category(name: str) -> str:
    """The stand-in's own modules log as parts of the host, `simulator.host.worker_pool` as Host.WorkerPool."""
    if not name.startswith(STAND_INS_OWN):
        return name
    words = name.removeprefix(STAND_INS_OWN).replace(".", "_").split("_")
    return "Host." + "".join(word.capitalize() for word in words)


def install(levels: Mapping[str, str], *, verbose: bool) -> None:
    """Make it the only log of this process. Raises InvalidLogLevel."""
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(LevelFilter(levels, verbose=verbose))
    handler.setFormatter(LineFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG)
