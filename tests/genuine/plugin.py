"""Says at the end of a test session when the genuine worker could not be asked."""

import pytest

NOT_RUN = "genuine worker: not run (needs Python ≥ 3.13)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped: list[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    if any(NOT_RUN in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(NOT_RUN, yellow=True)
