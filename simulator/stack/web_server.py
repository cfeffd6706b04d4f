"""A program of the stack that is ready when it answers on HTTP."""

import httpx

from simulator.stack.errors import StackError
from simulator.stack.ports import LOOPBACK, require_free
from simulator.stack.process import Process, Program
from simulator.stack.server import Server
from simulator.stack.waiting import wait_until

START_DEADLINE_S = 60


class WebServer(Server):
    """A program that listens on `port`; it is ready once `ready_path` answers below 400."""

    def __init__(self, program: Program, port: int, *, setting: str, ready_path: str) -> None:
        self.process = Process(program)
        self.url = f"http://{LOOPBACK}:{port}"
        self._port = port
        self._setting = setting
        self._ready_path = ready_path

    def prepare(self) -> None:
        """Make sure that the port is free."""
        require_free(self._port, self.process.program.name, self._setting)

    def wait_until_ready(self) -> None:
        """Wait until it answers; raise StackError with its last words if it ended instead."""
        name, log = self.process.program.name, self.process.program.log

        def ready() -> bool:
            if not self.process.running:
                last_words = log.read_text(errors="replace").strip().splitlines()[-8:]
                raise StackError("\n  ".join((f"{name} ended while starting (see {log}):", *last_words)))
            try:
                return httpx.get(self.url + self._ready_path, timeout=2).is_success
            except httpx.TransportError:
                return False

        wait_until(ready, deadline_s=START_DEADLINE_S, what=f"{name} answers, see {log}", every_s=0.1)
