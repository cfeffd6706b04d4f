"""A host process under test: started on a free port, its console read along, ended whatever happens."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from simulator.stack.waiting import wait_until

ROOT = Path(__file__).parents[2]
APPS = Path(__file__).parent / "apps"
DEADLINE_S = 20.0

# The genuine host's own patience is tried where a test is about it.
SHORT_TIMES = {
    "SIMULATOR_HOST_STOP_SECONDS": "2",
    "SIMULATOR_HOST_DRAIN_SECONDS": "0.5",
    "SIMULATOR_HOST_RESTART_INTERVAL_SECONDS": "0.1",
}


class RunningHost:
    """`with RunningHost("http", "--enableAuth") as host: host.get("/v1/process")`."""

    def __init__(self, app: str, *arguments: str, settings: Mapping[str, str] | None = None) -> None:
        inherited = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "HOME", "TEMP") if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "simulator.host", "--script-root", str(APPS / app), "--port", "0", *arguments],
            cwd=ROOT,
            env={**inherited, "FUNCTIONS_WORKER_RUNTIME": "python", **SHORT_TIMES, **(settings or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        self.wait_for("Host started")
        match = re.search(r"http://localhost:(\d+)", self.console)
        assert match, self.console
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{match[1]}", timeout=DEADLINE_S)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.client.close()
        self.end()

    @property
    def console(self) -> str:
        return "\n".join(self.lines)

    @property
    def pid(self) -> int:
        return self._process.pid

    def get(self, path: str, **more: object) -> httpx.Response:
        return self.client.get(path, **more)  # type: ignore[arg-type] # handed on as they are

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until the console has shown `text` so often; fail at once if the host ends before."""

        def is_there() -> bool:
            has_ended = self._process.poll() is not None and not self._reader.is_alive()
            seen = self.console.count(text)
            assert seen >= times or not has_ended, f"the host has ended without {text!r}:\n{self.console}"
            return seen >= times

        try:
            wait_until(is_there, deadline_s=DEADLINE_S, what=f"{text!r} on the console")
        except TimeoutError as error:
            raise AssertionError(f"{error}:\n{self.console}") from None

    def tell(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        """The exit code, once the host has ended by itself."""
        code = self._process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        return code

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))
