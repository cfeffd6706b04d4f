"""A long step of the set-up, with a line that shows it is alive; needs nothing but the standard library."""

import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from simulator.stack.errors import StackError

_EVERY_S = 5.0


def run_step(
    label: str,
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run the command and show that it is alive; if it fails, print its last lines and raise StackError."""
    began_at = time.monotonic()
    print(f"{label} …", flush=True)
    try:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise StackError(f"{label}: {error}") from error
    with child:
        tail: deque[str] = deque(maxlen=15)
        reader = threading.Thread(target=_read_lines, args=(child, tail), daemon=True)
        reader.start()
        while reader.is_alive():
            reader.join(_EVERY_S)
            if reader.is_alive():
                print(f"  {time.monotonic() - began_at:3.0f} s  {tail[-1] if tail else ''}".rstrip()[:100], flush=True)
    if child.returncode != 0:
        print("\n".join(tail), file=sys.stderr)
        raise StackError(f"{label}: failed (exit code {child.returncode}), see the lines above")
    print(f"  done in {time.monotonic() - began_at:.0f} s", flush=True)


def _read_lines(child: subprocess.Popen[str], tail: deque[str]) -> None:
    for line in child.stdout or ():
        if line.strip():
            tail.append(line.strip())
