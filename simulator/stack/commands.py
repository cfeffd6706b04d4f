"""The commands: what each one needs installed, and what it does."""

import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.stack.bootstrap import continue_in_venv, ensure_venv
from simulator.stack.errors import StackError
from simulator.stack.handover import hand_over
from simulator.stack.places import ROOT
from simulator.stack.settings import SETTINGS, StackSettings

TO_RUN = ROOT / "simulator" / "requirements.txt"
TO_TEST = ROOT / "tests" / "requirements.txt"


@dataclass(frozen=True)
class Command:
    """One word after `make` or `python -m simulator`."""

    purpose: str
    requirements: Path
    run: Callable[[list[str]], int]


def dispatch(arguments: Sequence[str]) -> int:
    """Run the named command in .venv and return the exit code; without a name, show the help."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # line by line into a pipe too, and whatever the console can show
            stream.reconfigure(line_buffering=True, errors="replace")
    name, rest = (arguments[0], list(arguments[1:])) if arguments else ("help", [])
    if name in ("help", "--help", "-h"):
        print(_help())
        return 0
    command = COMMANDS.get(name)
    if command is None:
        print(f"there is no '{name}'\n\n{_help()}", file=sys.stderr)
        return 2
    try:
        ensure_venv(command.requirements)
        continue_in_venv([name, *rest])
        return command.run(rest)
    except (StackError, TimeoutError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except PermissionError as error:
        print(f"{name}: {error.filename} is not yours to use (did root make it?)", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


# What a command does is imported when it runs: before .venv is made there is only the standard library.


def _set_up(_: list[str]) -> int:
    from simulator.stack.azurite import ensure_azurite

    ensure_azurite()
    return 0


def _run(_: list[str]) -> int:
    from simulator.stack.run import run

    _set_up([])
    run(StackSettings.read(os.environ))
    return 0


def _reset(_: list[str]) -> int:
    from simulator.stack.reset import reset

    reset(StackSettings.read(os.environ))
    return 0


def _test(arguments: list[str]) -> int:
    """All tests, files side by side in two processes, for most of their time is waiting; or just what was asked for."""
    _set_up([])
    hand_over([sys.executable, "-m", "pytest", *(arguments or ["-n", "2", "--dist", "loadfile"])])


def _replay(arguments: list[str]) -> int:
    _set_up([])
    hand_over([sys.executable, "-m", "tests.replay", *arguments])


def _chaos(arguments: list[str]) -> int:
    _set_up([])
    hand_over([sys.executable, "-m", "tests.chaos", *arguments])


def _take_screenshots(_: list[str]) -> int:
    _set_up([])
    hand_over([sys.executable, "-m", "tests.browser.screenshots"])


def _check(_: list[str]) -> int:
    from simulator.stack.checks import check

    return check()


def _renew_snapshots(_: list[str]) -> int:
    from simulator.stack.bicep import renew_snapshots

    renew_snapshots()
    return 0


COMMANDS = {
    "run": Command("start everything, send a ticket through it, stay until Ctrl-C", TO_RUN, _run),
    "reset": Command("forget all local data", TO_RUN, _reset),
    "setup": Command("only fetch what run needs", TO_RUN, _set_up),
    "test": Command("run the tests", TO_TEST, _test),
    "replay": Command("hold the stand-in host against the recordings of the genuine one", TO_TEST, _replay),
    "chaos": Command("kill and cut off everything for minutes, then audit every promise", TO_TEST, _chaos),
    "check": Command("lint, format, types, import borders, and infra/ where Bicep is", TO_TEST, _check),
    "screenshots": Command("take the pictures of the page anew, with Chromium", TO_TEST, _take_screenshots),
    "infra-snapshot": Command("write anew what Azure would get from infra/", TO_TEST, _renew_snapshots),
}


def _help() -> str:
    commands = [f"  {name:<20} {command.purpose}" for name, command in COMMANDS.items()]
    settings = [f"  {name:<20} {purpose} ({default or 'empty'})" for name, default, purpose in SETTINGS]
    return "\n".join(
        (
            'make COMMAND, or python -m simulator COMMAND (more words for it: make test ARGS="-k queue")',
            "",
            *commands,
            f"  {'help':<20} this page",
            "",
            "Settings, from the environment or as make run NAME=value:",
            "",
            *settings,
        )
    )
