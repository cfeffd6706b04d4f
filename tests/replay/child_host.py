"""A host of a replay that runs as a child process: see child.py."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from simulator.host.queue_settings import QueueSettings, QueueTimes
from tests.replay.events import Event
from tests.replay.function import Report

ROOT = Path(__file__).parents[2]


class ChildHost:
    """Like Host as far as its scenarios need it; and it can be killed."""

    def __init__(
        self, connection: str, queues: tuple[str, ...], settings: QueueSettings, times: QueueTimes, report: Report
    ) -> None:
        self._report = report
        self._orders = {
            "connection": connection,
            "queues": queues,
            "settings": asdict(settings),
            "times": asdict(times),
        }
        self._started_at: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.replay.child", stdin=PIPE, stdout=PIPE, cwd=ROOT
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_alive:
            self._process.kill()
        await self.exited()

    async def start(self) -> float:
        """Return when it started, by time.time()."""
        self._write(json.dumps(self._orders))
        return await self._started_at

    def stop(self) -> None:
        self._write("stop")

    def kill(self) -> None:
        """End it as kill -9 would."""
        self._process.kill()

    async def exited(self) -> int:
        """Wait until it has ended and return its exit code."""
        await self._reading
        return await self._process.wait()

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    def _write(self, line: str) -> None:
        if self._process.stdin:
            self._process.stdin.write(f"{line}\n".encode())

    async def _read(self) -> None:
        while self._process.stdout and (line := await self._process.stdout.readline()):
            said = json.loads(line)
            if "started_at" in said:
                self._started_at.set_result(said["started_at"])
            else:
                self._report(Event(**said["event"]), said["message_id"])
