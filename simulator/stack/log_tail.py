"""Shows what is added to log files, each line with the name of who wrote it."""

from pathlib import Path


class LogTail:
    """Follows one file from its present end."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path
        self._offset = path.stat().st_size if path.exists() else 0

    def new_lines(self) -> list[str]:
        """Return the complete lines that came since the last call, as `name | line`."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            added = file.read()
        complete = added[: added.rfind(b"\n") + 1]
        self._offset += len(complete)
        return [f"{self.name} | {line}" for line in complete.decode(errors="replace").splitlines()]
