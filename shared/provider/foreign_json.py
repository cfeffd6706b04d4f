"""JSON of a shape that nobody promises: decoding and picking that never raise, text that can be stored."""

from __future__ import annotations

import json
import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def decoded(body: bytes | str) -> object:
    """The JSON value in `body`; None when there is none: empty, text, broken encoding, endless nesting."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def pick(value: object, *path: str | int) -> object:
    """What lies at `path` (keys and list positions) inside a decoded value of any shape, or None."""
    for step in path:
        match value, step:
            case dict(), str():
                value = value.get(step)
            case list(), int() if step < len(value):
                value = value[step]
            case _:
                return None
    return value


def storable(text: str) -> str:
    """`text` with each NUL and lone surrogate replaced by U+FFFD: neither text nor jsonb can hold them.

    Works on decoded text, so a backslash followed by `u0000` as plain characters stays as it is.
    """
    return _UNSTORABLE.sub("\ufffd", text)
