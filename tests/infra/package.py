"""The package that goes to Azure: which files are in it, and a Python that has what it asks for and nothing else."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterator
from pathlib import Path

from simulator.stack.lock import only_one

ROOT = Path(__file__).parents[2]
SHELF = ROOT / ".local" / "package"
PYTHON = "languageWorkers__python__defaultExecutablePath"  # the host's setting: which one runs the worker


def ignored_names() -> set[str]:
    """The lines of .funcignore: names, each of a file or folder at any depth."""
    lines = (ROOT / ".funcignore").read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def package_files(folder: Path = ROOT) -> Iterator[Path]:
    """What is zipped and sent, relative to the project; what git ignores is in it unless .funcignore names it."""
    names = ignored_names()
    for path in sorted(folder.iterdir()):
        if path.name in names or path.suffix == ".pyc":
            continue
        if path.is_dir():
            yield from package_files(path)
        else:
            yield path.relative_to(ROOT)


def copy_package(target: Path) -> None:
    for path in package_files():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, target / path)


def previous_release() -> str | None:
    """The newest tag v… before this commit, or what PREVIOUS_RELEASE names; None before there is one."""
    if chosen := os.environ.get("PREVIOUS_RELEASE"):
        return chosen
    asked = ["git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def copy_release(release: str, target: Path) -> None:
    """The package as it was then."""
    parts = ("function_app.py", "host.json", "requirements.txt", "shared")
    archive = subprocess.run(["git", "archive", release, *parts], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(target, filter="data")


def bare_python(requirements: Path = ROOT / "requirements.txt") -> str:
    """An interpreter with `requirements` installed and nothing else; kept for the next time it asks for the same."""
    asked = requirements.read_bytes() + sys.version.encode()
    home = SHELF / hashlib.sha256(asked).hexdigest()[:12]
    interpreter = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    with only_one(SHELF / "installing.lock"):
        if not (home / "finished").exists():
            venv.create(home, clear=True, with_pip=True)
            pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "-r", str(requirements)], check=True)
            (home / "finished").touch()
    return str(interpreter)
