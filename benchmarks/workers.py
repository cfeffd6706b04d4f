"""The processes of a host's workers and of Postgres, as Linux knows them: how much they hold and have used."""

import os
from pathlib import Path

import psycopg

from simulator.stack.web_server import WebServer

_PROC = Path("/proc")
# Places in stat after the process's name; times in ticks.
_PARENT, _USER, _SYSTEM, _USER_OF_ENDED, _SYSTEM_OF_ENDED = 1, 11, 12, 13, 14


def peak_mib(host: WebServer) -> float:
    """The most memory (resident, MiB) that its largest worker has held so far."""
    return max(_peak_kib(pid) for pid in _workers(host)) / 1024


def cpu_s(host: WebServer) -> float:
    """Processor time of its workers, in seconds."""
    return sum(_ticks(pid) for pid in _workers(host)) / os.sysconf("SC_CLK_TCK")


def server_cpu_s(connection: psycopg.Connection) -> float:
    """Processor time of the Postgres behind a connection, in seconds: of all its processes, ended ones too."""
    (backend,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    postmaster = int(_stat(backend)[_PARENT])
    ended = sum(int(_stat(postmaster)[place]) for place in (_USER_OF_ENDED, _SYSTEM_OF_ENDED))
    return (ended + sum(_ticks(pid) for pid in (postmaster, *_children(postmaster)))) / os.sysconf("SC_CLK_TCK")


def _workers(host: WebServer) -> list[int]:
    """The host's descendants."""
    pids = [host.process.pid or 0]
    for pid in pids:  # it grows meanwhile
        pids += _children(pid)
    return pids[1:]


def _children(pid: int) -> list[int]:
    return list(map(int, (_PROC / f"{pid}/task/{pid}/children").read_text(encoding="ascii").split()))


def _peak_kib(pid: int) -> int:
    lines = (_PROC / f"{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def _ticks(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[_USER]) + int(fields[_SYSTEM])


def _stat(pid: int) -> list[str]:
    return (_PROC / f"{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
