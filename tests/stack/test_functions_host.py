"""Which program runs the functions: Core Tools as found on PATH, or the stand-in."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.stack.errors import StackError
from simulator.stack.functions_host import functions_program
from simulator.stack.places import VENV

STAND_IN = (sys.executable, "-m", "simulator.host", "--port", "7071")


@pytest.fixture
def path_with(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Makes an environment whose PATH has a `func` that does this when asked for its version."""

    def make(script: str) -> dict[str, str]:
        func = tmp_path / "func"
        func.write_text(f"#!/bin/sh\n{script}\n")
        func.chmod(0o755)
        return {"PATH": os.pathsep.join((str(tmp_path), os.defpath))}

    return make


@pytest.mark.parametrize("script", ["echo 3.0.5682", "exit 1", "echo what?"])
def test_host_when_core_tools_are_too_old_or_broken_then_is_the_stand_in(
    path_with: Callable[[str], dict[str, str]], script: str, tmp_path: Path
) -> None:
    assert functions_program("", 7071, path_with(script), tmp_path / "log").command == STAND_IN


def test_host_when_core_tools_are_new_enough_then_is_func_in_our_environment(
    path_with: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    program = functions_program("", 7071, path_with("echo 4.0.7030"), tmp_path / "log")

    assert program.command == (str(tmp_path / "func"), "start", "--port", "7071")
    assert program.environment["VIRTUAL_ENV"] == str(VENV)
    assert program.environment["PATH"].startswith(str(VENV))
    assert program.stop_signal == signal.SIGINT


def test_host_when_local_is_forced_then_core_tools_are_left_alone(
    path_with: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    assert functions_program("local", 7071, path_with("echo 4.0.7030"), tmp_path / "log").command == STAND_IN


def test_host_when_func_is_forced_but_missing_then_says_so(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="HOST=func"):
        functions_program("func", 7071, {"PATH": str(tmp_path)}, tmp_path / "log")
