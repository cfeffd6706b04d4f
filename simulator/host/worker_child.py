"""The worker as a child process: how it is started, what it prints, how it ended."""

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

console = logging.getLogger("Host.Function.Console")

#: The host's own setting for another Python than its own (genuine: of the language worker).
PYTHON_SETTING = "languageWorkers__python__defaultExecutablePath"
STAND_IN = str(Path(__file__).resolve().parents[2])
KEPT_COMPLAINTS = 3
ERROR_WORDS = ("error", "fail", "severe", "unhandled exception")
STDOUT, STDERR = 1, 2


@dataclass(frozen=True)
class Launch:
    """What every worker of a host is started with."""

    root: Path
    environment: Mapping[str, str]
    debug: bool


class WorkerChild(asyncio.SubprocessProtocol):
    """Watches one process: its lines go to the console log, its last complaints into the report of its death."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self.has_ended = asyncio.Event()
        self.complaints: deque[str] = deque(maxlen=KEPT_COMPLAINTS)
        self._unfinished = {STDOUT: b"", STDERR: b""}

    @classmethod
    async def start(cls, launch: Launch, *, port: int, token: str) -> "WorkerChild":
        """Start it; it is to connect to `port` of this machine and say `token`."""
        transport, child = await asyncio.get_running_loop().subprocess_exec(
            cls,
            launch.environment.get(PYTHON_SETTING) or sys.executable,
            "-u",  # what the app prints is shown at once, and not lost when it ends the process
            "-m",
            "simulator.host.worker",
            cwd=launch.root,
            env=_environment(launch),
        )
        order = {"port": port, "token": token, "debug": launch.debug}
        # The pipe stays open as long as the host lives: that is how the worker notices its end.
        cast(asyncio.WriteTransport, transport.get_pipe_transport(0)).write(json.dumps(order).encode() + b"\n")
        return child

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.pid = self._transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        *lines, self._unfinished[fd] = (self._unfinished[fd] + data).split(b"\n")
        for line in lines:
            self._report(fd, line)

    def pipe_connection_lost(self, fd: int, error: Exception | None) -> None:
        if rest := self._unfinished.pop(fd, b""):
            self._report(fd, rest)

    def process_exited(self) -> None:
        code = self._transport.get_returncode()
        self.exit_code = _dotnet_code(1 if code is None else code)
        self.has_ended.set()

    def kill(self) -> None:
        """End it at once: no signal handler, no `finally`."""
        with contextlib.suppress(ProcessLookupError):
            self._transport.kill()

    async def close(self) -> None:
        """End it and wait until it is gone."""
        self.kill()
        await self.has_ended.wait()
        self._transport.close()

    def _report(self, fd: int, line: bytes) -> None:
        text = line.decode(errors="replace").rstrip()
        level = logging.INFO if fd == STDOUT else complaint_level(text)
        if level == logging.ERROR:
            self.complaints.append(text)
        if text:
            console.log(level, "%s", text)


def complaint_level(text: str) -> int:
    """How the host takes a line of stderr: by the words in it (functions-host D5)."""
    lowered = text.lower()
    if "warn" in lowered:
        return logging.WARNING
    return logging.ERROR if any(word in lowered for word in ERROR_WORDS) else logging.INFO


def _environment(launch: Launch) -> dict[str, str]:
    """The app's settings, and what the worker needs to find the stand-in; it takes that out again."""
    paths = [STAND_IN, launch.environment.get("PYTHONPATH")]
    return {**launch.environment, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def _dotnet_code(code: int) -> int:
    """A death by signal as .NET tells it: 137 for SIGKILL."""
    return 128 - code if code < 0 else code
