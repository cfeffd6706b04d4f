"""`make check`: the same tools with the same arguments, for people and for CI."""

import subprocess
import sys
from collections.abc import Sequence

from simulator.stack.bicep import check_infra
from simulator.stack.places import ROOT, VENV_PYTHON

_CHECKS = (
    ("ruff", "check"),
    ("ruff", "format", "--check"),
    ("mypy",),
    ("lint-imports", "--no-logo"),
)


def check() -> int:
    """Run every check, and return 1 if one of them found something."""
    failed = [" ".join(command) for command in _CHECKS if _call(command) != 0]
    failed += check_infra()
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _call(command: Sequence[str]) -> int:
    print(f"$ {' '.join(command)}", flush=True)
    return subprocess.call([str(VENV_PYTHON.with_name(command[0])), *command[1:]], cwd=ROOT)
