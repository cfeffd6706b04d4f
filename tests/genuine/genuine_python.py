"""A Python new enough for Microsoft's worker library, and an environment of its own with the library in it."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from simulator.stack.lock import only_one
from simulator.stack.places import ROOT
from simulator.stack.progress import run_step

SETTING = "PYTHON_GENUINE"
SHELF = ROOT / ".local" / "genuine"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
CHECK = "import sys; print(sys.version); sys.exit(sys.version_info < (3, 13))"


def find_python() -> str | None:
    """A Python 3.13 or newer: the one PYTHON_GENUINE names, or one of this machine; None if it has none.

    Raises RuntimeError when the named one will not do.
    """
    if named := os.environ.get(SETTING):
        if version_of(named) is None:
            raise RuntimeError(f"{SETTING} names {named}, which is no Python 3.13 or newer")
        return named
    return next((python for python in candidates() if version_of(python)), None)


def candidates() -> Iterator[str]:
    yield sys.executable
    yield from filter(None, map(shutil.which, ("python3.14", "python3.13", "python3")))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob("versions/3.1[3-9]*/bin/python"), reverse=True))


def version_of(python: str) -> str | None:
    """Its version, None if it is too old or does not run (a shim of pyenv may lead nowhere)."""
    try:
        answer = subprocess.run([python, "-c", CHECK], capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout


def environment_of(python: str) -> str:
    """The interpreter of an environment with what `requirements.txt` asks for, made of `python` unless it is there."""
    asked = REQUIREMENTS.read_bytes() + (ROOT / "requirements.txt").read_bytes() + str(version_of(python)).encode()
    home = SHELF / hashlib.sha256(asked).hexdigest()[:12]
    interpreter = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    finished = home / "finished"
    with only_one(SHELF / "installing.lock"):
        if not finished.exists():
            shutil.rmtree(home, ignore_errors=True)
            run_step("Making an environment", [python, "-m", "venv", str(home)])
            pip = [str(interpreter), "-m", "pip", "install", "--disable-pip-version-check", "-q"]
            run_step("Fetching the genuine worker", [*pip, "-r", str(REQUIREMENTS)])
            finished.touch()
    return str(interpreter)
