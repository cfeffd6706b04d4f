"""One child process: started in a group of its own, stopped politely, killed when it will not listen."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from simulator.stack.accounts import Account
from simulator.stack.places import ROOT

# Linux ends a child when the *thread* that started it ends: one that lives as long as we do starts them all.
_spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Program:
    """How a child is started and stopped; its output goes to the end of `log`."""

    name: str
    command: tuple[str, ...]
    log: Path
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    stop_signal: signal.Signals = signal.SIGTERM
    account: Account | None = None


class Process:
    """A program that can be started again after it has ended."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    @property
    def pid(self) -> int | None:
        return self._popen.pid if self._popen else None

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs or before the first run."""
        return self._popen.poll() if self._popen else None

    def start(self) -> None:
        if self.running:
            return
        self.program.log.parent.mkdir(parents=True, exist_ok=True)
        self._popen = _spawner.submit(_spawn, self.program).result()

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the end and return the exit code; None if it still runs after `timeout_s` seconds."""
        if self._popen is None:
            return None
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, patience_s: float = 10) -> None:
        """Ask the child to end, kill it after `patience_s` seconds; what it started itself is ended too."""
        if self._popen is None or not self.running:
            return
        if sys.platform == "win32":
            self._popen.send_signal(signal.CTRL_BREAK_EVENT)
        else:
            self._popen.send_signal(self.program.stop_signal)
        self.wait(patience_s)
        self._end_group(self._popen)

    def kill(self) -> None:
        """End the child and what it started at once, as a power cut would."""
        if self._popen is not None and self.running:
            self._end_group(self._popen)

    def _end_group(self, popen: subprocess.Popen[bytes]) -> None:
        if sys.platform == "win32":
            popen.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):  # nobody left; macOS says so in its own way
                os.killpg(popen.pid, signal.SIGKILL)
        popen.wait()


def _spawn(program: Program) -> subprocess.Popen[bytes]:
    account = program.account
    with program.log.open("ab") as log:
        return subprocess.Popen(
            program.command,
            cwd=ROOT,
            env=dict(program.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # A group of its own: Ctrl-C in the terminal reaches us alone, and we stop the children in order.
            start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            preexec_fn=_follow_parent(program.stop_signal),
        )


def _follow_parent(stop_signal: signal.Signals) -> Callable[[], object] | None:
    """Return what a new child does to be sent `stop_signal` when we are killed: only Linux knows a way."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_PR_SET_PDEATHSIG, int(stop_signal))
