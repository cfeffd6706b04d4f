"""Makes .venv from the pinned requirements; it has only the standard library to work with."""

import hashlib
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from simulator.stack.errors import StackError
from simulator.stack.handover import hand_over
from simulator.stack.lock import only_one
from simulator.stack.places import ROOT, VENV, VENV_PYTHON
from simulator.stack.progress import run_step

_LOCK = ROOT / ".local" / "venv.lock"


def ensure_venv(requirements: Path) -> None:
    """Install the requirements into .venv, unless these very pins are installed there."""
    wanted = hashlib.sha256("\0".join(requirement_lines(requirements)).encode()).hexdigest()
    stamp = VENV / f"{requirements.parent.name}.sha256"
    with only_one(_LOCK):
        if not _works():
            _make_venv()
        if not stamp.exists() or stamp.read_text() != wanted:
            pip = [str(VENV_PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
            run_step("Installing packages into .venv", [*pip, "-r", str(requirements)])
            stamp.write_text(wanted)


def continue_in_venv(arguments: list[str]) -> None:
    """Run this program again with the Python of .venv; returns only if that is the one running."""
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    hand_over([str(VENV_PYTHON), "-m", "simulator", *arguments])


def _works() -> bool:
    if not VENV_PYTHON.exists():
        return False
    probe = [str(VENV_PYTHON), "-c", "import pip, sys; sys.exit(sys.version_info < (3, 11))"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def _make_venv() -> None:
    if find_spec("ensurepip") is None:
        raise StackError("this Python cannot make a virtual environment (Debian: apt-get install python3-venv)")
    shutil.rmtree(VENV, ignore_errors=True)
    run_step("Making .venv", [sys.executable, "-m", "venv", str(VENV)])


def requirement_lines(requirements: Path) -> list[str]:
    """Return the lines of the file and of those it names with -r."""
    lines = requirements.read_text(encoding="utf-8").splitlines()
    included = [line.split(maxsplit=1)[1] for line in lines if line.startswith("-r ")]
    return [*lines, *(line for name in included for line in requirement_lines(requirements.parent / name))]
