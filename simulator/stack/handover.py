"""Handing the terminal over to another program for good."""

import os
import subprocess
import sys
from typing import NoReturn

from simulator.stack.places import ROOT


def hand_over(command: list[str]) -> NoReturn:
    """Become the command: its exit code is ours, and Ctrl-C reaches it, which ends in its own time."""
    sys.stdout.flush()
    if sys.platform != "win32":
        os.chdir(ROOT)
        os.execv(command[0], command)  # noqa: S606 - our own Python, no shell wanted
    # Windows has an exec, but one that gives the terminal back at once.
    with subprocess.Popen(command, cwd=ROOT) as child:
        while True:
            try:
                raise SystemExit(child.wait())
            except KeyboardInterrupt:
                continue  # the child got it too
