"""The Bicep compiler on the templates in infra/, where a machine has one: on PATH, or named by BICEP."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from simulator.stack.errors import StackError
from simulator.stack.places import ROOT

INFRA = ROOT / "infra"
EXAMPLES = INFRA / "examples"
#: Nobody's subscription: an example is evaluated on this machine, and nothing is asked of Azure.
NOWHERE = ("--subscription-id", "00000000-0000-0000-0000-000000000000", "--location", "westeurope")
MISSING = "infra/ is not checked: no Bicep compiler on PATH or in BICEP"


def find_bicep() -> str | None:
    """The compiler's path, or None. Raises StackError when BICEP names something that is not there."""
    named = os.environ.get("BICEP")
    found = shutil.which(named or "bicep")
    if named and not found:
        raise StackError(f"BICEP names {named}, which is no program")
    return found


def check_infra() -> list[str]:
    """Build, lint, format and evaluate the templates; the commands that found something."""
    bicep = find_bicep()
    if bicep is None:
        print(MISSING)
        return []
    pinned = (INFRA / "bicep-version").read_text(encoding="utf-8").strip()
    version = subprocess.run([bicep, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if f" {pinned} " not in f"{version} ":
        print(f"{version}; the project is held to {pinned}, others may see other warnings or snapshots")
    return [command for command, is_clean in _checks(bicep) if not is_clean]


def renew_snapshots() -> None:
    """Write anew what Azure would get for each example. Raises StackError."""
    bicep = find_bicep()
    if bicep is None:
        raise StackError("no Bicep compiler on PATH or in BICEP")
    for example in sorted(EXAMPLES.glob("*.bicepparam")):
        if not _run(bicep, "snapshot", str(example.relative_to(ROOT)), "--mode", "overwrite", *NOWHERE):
            raise StackError(f"{example.name} cannot be evaluated")
        _sort_outputs(example.with_suffix(".snapshot.json"))


def _checks(bicep: str) -> Iterator[tuple[str, bool]]:
    yield "bicep build", _run(bicep, "build", "infra/main.bicep", "--stdout")
    yield "bicep lint", _run(bicep, "lint", "infra/main.bicep")
    yield "bicep format", _is_formatted(bicep)
    for example in sorted(EXAMPLES.glob("*.bicepparam")):
        path = str(example.relative_to(ROOT))
        is_same = _run(bicep, "snapshot", path, "--mode", "validate", *NOWHERE)
        if not is_same:
            print("the templates make something else than the snapshots say: make infra-snapshot, and read the diff")
        yield f"bicep snapshot {path}", is_same


def _run(bicep: str, *arguments: str) -> bool:
    """Run the compiler; clean means exit code 0 and not a word, since a warning leaves the code at 0."""
    print(f"$ bicep {' '.join(arguments)}", flush=True)
    done = subprocess.run([bicep, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout.strip(), file=sys.stderr)
    print(done.stderr, end="", file=sys.stderr)
    return done.returncode == 0 and not done.stderr.strip()


def _is_formatted(bicep: str) -> bool:
    """Format a copy and compare; the compiler has no way to ask."""
    print("$ bicep format", flush=True)
    sources = sorted(path for kind in ("*.bicep", "*.bicepparam") for path in INFRA.rglob(kind))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(INFRA, Path(folder) / "infra", ignore=shutil.ignore_patterns(".venv")))
        for kind in ("bicep", "bicepparam"):
            subprocess.run([bicep, "format", "--pattern", f"{copy.as_posix()}/**/*.{kind}"], check=True)
        changed = [path for path in sources if _text(copy / path.relative_to(INFRA)) != _text(path)]
    for path in changed:
        print(f"not as `bicep format` writes it: {path.relative_to(ROOT)}", file=sys.stderr)
    return not changed


def _sort_outputs(snapshot: Path) -> None:
    """Bring the outputs into one order: the compiler writes them in another one each time."""
    content = json.loads(_text(snapshot))
    content["outputs"] = dict(sorted(content["outputs"].items()))
    snapshot.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
