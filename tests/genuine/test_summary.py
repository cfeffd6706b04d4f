"""Whether a session in which the genuine worker could not be run says so."""

from typing import cast

import pytest

from tests.genuine.plugin import NOT_RUN, pytest_terminal_summary


class Skip:
    """The report of a skipped test, as far as the summary looks at it."""

    def __init__(self, reason: str) -> None:
        self.longrepr = ("tests/genuine/conftest.py", 30, f"Skipped: {reason}")


class Terminal:
    """What was reported, and what is printed."""

    def __init__(self, *skipped: Skip) -> None:
        self.stats = {"skipped": list(skipped)} if skipped else {}
        self.lines: list[str] = []

    def write_line(self, line: str, **_markup: bool) -> None:
        self.lines.append(line)


def summary_of(*skipped: Skip) -> list[str]:
    terminal = Terminal(*skipped)
    pytest_terminal_summary(cast(pytest.TerminalReporter, terminal))
    return terminal.lines


def test_summary_when_the_worker_was_not_run_says_so_once() -> None:
    assert summary_of(Skip(NOT_RUN), Skip(NOT_RUN)) == ["genuine worker: not run (needs Python ≥ 3.13)"]


def test_summary_when_it_was_run_is_silent() -> None:
    assert summary_of() == summary_of(Skip("no Docker here")) == []
