"""Keeps processes alive: one that ends unasked is started again, and in the end all stop in order."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from simulator.stack.process import Process

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 10.0
# A process that lived this long did not fail because of how it starts.
STEADY_S = 30.0


class Supervisor:
    """Watches processes until the block ends, then stops them, the last one first.

    The pause before a restart doubles from one short life to the next, up to ten seconds.
    """

    def __init__(self, say: Callable[[str], None] = print) -> None:
        self._say = say
        self._processes: list[Process] = []
        self._watchers: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._starting = threading.Lock()

    def watch(self, process: Process) -> None:
        """Keep a started process alive from now on."""
        watcher = threading.Thread(target=self._keep_alive, args=(process,), daemon=True)
        self._processes.append(process)
        self._watchers.append(watcher)
        watcher.start()

    def stop(self) -> None:
        """Stop all; being interrupted on the way means: kill what is left."""
        with self._starting:
            self._stopping.set()
        try:
            for process in reversed(self._processes):
                process.stop()
        except KeyboardInterrupt:
            for process in reversed(self._processes):
                process.kill()
        for watcher in self._watchers:
            watcher.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _keep_alive(self, process: Process) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            began_at = time.monotonic()
            code = process.wait()
            if time.monotonic() - began_at > STEADY_S:
                pause_s = FIRST_PAUSE_S
            if self._stopping.is_set():
                return
            name, log = process.program.name, process.program.log
            self._say(f"{name} ended (exit code {code}); starting it again in {pause_s:g} s, see {log}")
            self._stopping.wait(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            with self._starting:
                if self._stopping.is_set():
                    return
                process.start()
