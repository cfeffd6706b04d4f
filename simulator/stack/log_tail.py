"""Shows what is added to log files, each line with the name of who wrote it."""

import re
from pathlib import Path

_TIMER_RUN_BEGINS = re.compile(r".*Executing .*Reason='Timer fired at .*Id=(?P<run>[\w-]+)")
_RUN_ENDS = re.compile(r".*Executed .*\((?P<outcome>\w+), Id=(?P<run>[\w-]+)")


class LogTail:
    """Follows one file from its present end, but for timer runs that go well: one comes every second."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path
        self._offset = path.stat().st_size if path.exists() else 0
        self._timer_runs: set[str] = set()

    def new_lines(self) -> list[str]:
        """Return the complete lines that came since the last call, as `name | line`."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            added = file.read()
        complete = added[: added.rfind(b"\n") + 1]
        self._offset += len(complete)
        lines = complete.decode(errors="replace").splitlines()
        return [f"{self.name} | {line}" for line in lines if self._is_worth_showing(line)]

    def _is_worth_showing(self, line: str) -> bool:
        if begins := _TIMER_RUN_BEGINS.match(line):
            self._timer_runs.add(begins["run"])
            return False
        ends = _RUN_ENDS.match(line)
        if ends is None or ends["run"] not in self._timer_runs:
            return True
        self._timer_runs.remove(ends["run"])
        return ends["outcome"] != "Succeeded"
