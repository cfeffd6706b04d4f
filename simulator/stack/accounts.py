"""Who runs Postgres: it refuses root, so root lends it an account, and a place this account can reach."""

import hashlib
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from simulator.stack.errors import StackError


@dataclass(frozen=True)
class Account:
    """An unprivileged user of this machine."""

    name: str
    uid: int
    gid: int


def account_for(folder: Path) -> Account | None:
    """Return the account that runs Postgres in `folder` for root: its owner if there is one; None unless root."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    import pwd  # Windows has none

    entries = {entry.pw_uid: entry for entry in pwd.getpwall()}
    owner = entries.get(folder.stat().st_uid) if folder.exists() else None
    if owner is None or owner.pw_uid == 0:
        names = {entry.pw_name: entry for entry in entries.values()}
        owner = names.get("postgres") or names.get("nobody")
    if owner is None:
        raise StackError("Postgres refuses root, and this machine has no user 'postgres' or 'nobody'")
    return Account(owner.pw_name, owner.pw_uid, owner.pw_gid)


def can_reach(account: Account | None, path: Path) -> bool:
    """Say whether the account may enter every folder on the way to `path`, and `path` itself if it exists."""
    if account is None:
        return True
    steps = [step for step in (path, *path.parents) if step.exists()]
    return all(_may_enter(account, step.stat()) for step in steps)


def reachable(account: Account | None, wanted: Path) -> Path:
    """Return `wanted`, or where the account cannot get to it, a stand-in below /var/tmp that is its alone."""
    if can_reach(account, wanted):
        return wanted
    home = Path("/var/tmp") / f"local-stack-{hashlib.sha256(str(wanted).encode()).hexdigest()[:12]}"  # noqa: S108 - checked below
    home.mkdir(exist_ok=True)
    if home.stat().st_uid != 0:
        raise StackError(f"{home} belongs to somebody else: remove it, or set LOCAL_DIR")
    home.chmod(0o711)
    return home / wanted.name


def _may_enter(account: Account, status: os.stat_result) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
