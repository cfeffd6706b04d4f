"""The program that runs function_app.py: Core Tools where they are installed, the stand-in otherwise."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from simulator.stack.errors import StackError
from simulator.stack.places import VENV, VENV_PYTHON
from simulator.stack.process import Program

OLDEST_CORE_TOOLS = 4


def functions_program(host: str, port: int, environment: Mapping[str, str], log: Path) -> Program:
    """Return the program for `host`: "func", "local", or "" for Core Tools if they are there and new enough."""
    func = None if host == "local" else _core_tools(environment.get("PATH"))
    if host == "func" and func is None:
        raise StackError(f"HOST=func: no Azure Functions Core Tools {OLDEST_CORE_TOOLS} or newer on PATH")
    if func is None:
        command: tuple[str, ...] = (sys.executable, "-m", "simulator.host", "--port", str(port))
        return Program("functions", command, log, environment)
    # Core Tools take the Python of the active virtual environment.
    path = os.pathsep.join((str(VENV_PYTHON.parent), environment.get("PATH", "")))
    activated = {**environment, "VIRTUAL_ENV": str(VENV), "PATH": path}
    return Program("functions", (func, "start", "--port", str(port)), log, activated, signal.SIGINT)


def _core_tools(path: str | None) -> str | None:
    func = shutil.which("func", path=path)
    if func is None:
        return None
    try:
        answer = subprocess.run([func, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    major = answer.stdout.strip().partition(".")[0]
    return func if major.isdecimal() and int(major) >= OLDEST_CORE_TOOLS else None
