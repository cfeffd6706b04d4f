"""The processes that run the app's Python code below a host, as Linux knows them: how much they hold and have used."""

import os
from pathlib import Path

from simulator.stack.web_server import WebServer

_PROC = Path("/proc")
_USER, _SYSTEM = 11, 12  # places in stat after the process's name, in ticks


def peak_mib(host: WebServer) -> float:
    """The most memory (resident, MiB) that its largest worker has held so far."""
    return max(_peak_kib(pid) for pid in _workers(host)) / 1024


def cpu_s(host: WebServer) -> float:
    """Processor time of its workers, in seconds."""
    return sum(_ticks(pid) for pid in _workers(host)) / os.sysconf("SC_CLK_TCK")


def _workers(host: WebServer) -> list[int]:
    """The host's descendants."""
    pids = [host.process.pid or 0]
    for pid in pids:  # it grows meanwhile
        pids += map(int, (_PROC / f"{pid}/task/{pid}/children").read_text(encoding="ascii").split())
    return pids[1:]


def _peak_kib(pid: int) -> int:
    lines = (_PROC / f"{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def _ticks(pid: int) -> int:
    fields = (_PROC / f"{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[_USER]) + int(fields[_SYSTEM])
