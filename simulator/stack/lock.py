"""Locks between processes: the operating system frees them when their holder dies."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from simulator.stack.errors import StackError

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[str]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def only_one(path: Path, *, refusal: str | None = None) -> Iterator[None]:
    """Hold the lock file during the block; while another one has it, wait or raise StackError(refusal)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        while True:
            try:
                _try_lock(file)
                break
            except OSError:
                if refusal is not None:
                    raise StackError(refusal) from None
                time.sleep(0.2)
        yield
