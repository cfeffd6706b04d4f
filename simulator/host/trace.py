"""The W3C trace context of a run: the one a request brings, or a fresh one (functions-host D3)."""

import re
import secrets

_PARENT = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})", re.ASCII)


def make_trace(parent: str = "", state: str = "") -> tuple[str, str]:
    """`traceparent` and `tracestate` for a run: the caller's trace goes on, with a span of the host's own."""
    match = _PARENT.fullmatch(parent)
    if match is None:
        return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-00", ""
    return f"00-{match[1]}-{secrets.token_hex(8)}-{match[2]}", state
