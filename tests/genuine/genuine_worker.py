"""A process in which Microsoft's worker library holds the app, as seen by a test that plays the host."""

import json
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from simulator.host.timer_listener import TimerFire
from simulator.stack.places import ROOT

CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `error` is None or the worker's words; `http` the response of an HTTP function."""

    error: str | None
    http: dict[str, Any] | None


class GenuineWorker:
    """`functions` are the bindings of every function found, by its name."""

    functions: dict[str, list[dict[str, Any]]]

    def __init__(self, python: str, environment: Mapping[str, str], *, log: Path) -> None:
        self.environment = environment
        self._command = (python, str(CHILD))
        self._log = log

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=self.environment,
                text=True,
                encoding="utf-8",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.functions = self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def request(self, function: str, method: str, address: str, *, body: str = "", **params: str) -> Outcome:
        """Run an HTTP function; `params` are its route's."""
        http = {
            "method": method,
            "url": f"http://localhost:7071{address}",
            "headers": {"content-type": "application/json"} if body else {},
            "query": {},
            "params": params,
            "body": body,
        }
        return self._run(function, {"http": http})

    def fire(self, function: str) -> Outcome:
        """Run a timer function."""
        return self._run(function, {"json": TimerFire(past_due=False, schedule_status=None).to_json()})

    def deliver(self, function: str, text: str) -> Outcome:
        """Run a queue function for the first delivery of a message."""
        at = json.dumps("2026-11-29T19:46:53+00:00")
        metadata = {
            "Id": {"string": str(uuid.uuid4())},
            "PopReceipt": {"string": "receipt"},
            "DequeueCount": {"json": "1"},
            "InsertionTime": {"json": at},
            "ExpirationTime": {"json": at},
            "NextVisibleTime": {"json": at},
        }
        return self._run(function, {"string": text}, metadata)

    def lines(self) -> list[dict[str, Any]]:
        """The app's own log lines so far, which are JSON here."""
        written = self._log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in written if '"logger": "larkfield.' in line]

    def _run(self, function: str, given: Any, metadata: Any = None) -> Outcome:
        call = {"id": str(uuid.uuid4()), "function": function, "input": given, "metadata": metadata or {}}
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(call) + "\n")
        self._child.stdin.flush()
        return Outcome(**self._read())

    def _read(self) -> Any:
        assert self._child.stdout is not None
        if line := self._child.stdout.readline():
            return json.loads(line)
        self._end()
        raise RuntimeError(f"the genuine worker ended:\n{self._log.read_text(encoding='utf-8')[-5000:]}")

    def _end(self) -> None:
        with self._child:
            self._child.kill()
