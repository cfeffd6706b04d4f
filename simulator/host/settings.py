"""The app's settings as the host sees them: names without regard to case, `__` and `:` alike (functions-host D8)."""

from collections.abc import Mapping


class Settings:
    """Read-only settings over an environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        self._values = {_normalize(name): value for name, value in environment.items()}

    def find(self, name: str) -> str | None:
        """The value, None if there is none; an empty one counts as none."""
        return self._values.get(_normalize(name)) or None

    def is_on(self, name: str) -> bool:
        return (self.find(name) or "").lower() in ("1", "true")

    def section(self, name: str) -> dict[str, str]:
        """What lies under `name`, by the rest of its path, such as `extensions:queues:batchsize`."""
        prefix = _normalize(name) + ":"
        return {path[len(prefix) :]: value for path, value in self._values.items() if path.startswith(prefix)}


def _normalize(name: str) -> str:
    return name.replace("__", ":").lower()
