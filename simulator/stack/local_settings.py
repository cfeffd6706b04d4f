"""The environment of the app's processes: local.settings.json (or the example), and where the stack really is."""

import json
from collections.abc import Mapping
from pathlib import Path

from simulator.stack.errors import StackError
from simulator.stack.places import LOCAL_SETTINGS, LOCAL_SETTINGS_EXAMPLE


def app_environment(
    environment: Mapping[str, str],
    addresses: Mapping[str, str],
    *,
    own: Path = LOCAL_SETTINGS,
    example: Path = LOCAL_SETTINGS_EXAMPLE,
) -> dict[str, str]:
    """Merge, strongest first: the shell, what the person changed in `own`, `addresses`, the rest of the example.

    An empty variable counts as not set, as it does for `func start`.
    """
    defaults = _values(example)
    changed = {
        name: value for name, value in (_values(own) if own.exists() else {}).items() if defaults.get(name) != value
    }
    shell = {name: value for name, value in environment.items() if value}
    return {**defaults, **addresses, **changed, **shell}


def own_database_url(own: Path = LOCAL_SETTINGS, example: Path = LOCAL_SETTINGS_EXAMPLE) -> str:
    """Return the DATABASE_URL that the person wrote into local.settings.json; empty if it is the example's."""
    value = _values(own).get("DATABASE_URL", "") if own.exists() else ""
    return "" if value == _values(example).get("DATABASE_URL") else value


def _values(file: Path) -> dict[str, str]:
    try:
        values = json.loads(file.read_text(encoding="utf-8-sig"))["Values"]
        return {name: str(value) for name, value in values.items() if value is not None}
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise StackError(f"{file.name} is not readable as settings: {error!r}") from error
