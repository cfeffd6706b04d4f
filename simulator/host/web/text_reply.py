"""What becomes of a `str` that an HTTP function returns: the host tries to read it as JSON (C3)."""

import json
from typing import Any

PLAIN = "text/plain; charset=utf-8"

TextReply = tuple[int, dict[str, str], bytes]


def read_text_reply(text: str) -> TextReply:
    """Status, headers and body of the response.

    An object with a `body` describes a whole response; other JSON is written out again, everything else as it is.
    """
    try:
        value = json.loads(text)
    except ValueError:
        return 200, {"content-type": PLAIN}, text.encode()
    fields = {name.lower(): inner for name, inner in value.items()} if isinstance(value, dict) else {}
    if "body" not in fields:
        return 200, {"content-type": PLAIN}, _write(value).encode()
    headers = fields.get("headers") if isinstance(fields.get("headers"), dict) else {}
    named = {"content-type": PLAIN} | {name.lower(): _write(inner) for name, inner in (headers or {}).items()}
    return _status(fields), named, _write(fields["body"], indent=None).encode()


def _status(fields: dict[str, Any]) -> int:
    for name in ("statuscode", "status"):
        if name in fields:
            try:
                return int(fields[name])
            except (TypeError, ValueError):
                return 200
    return 200


def _write(value: Any, indent: int | None = 2) -> str:
    """As .NET's JSON library writes a value out as text."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return str(value)
        case _ if indent is None:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        case _:
            return json.dumps(value, ensure_ascii=False, indent=indent)
