"""How ids and times look outside: ticket 500001 is T-500001, times are RFC 3339 in UTC with a Z."""

from __future__ import annotations

import re
from datetime import UTC, datetime

MAX_ID = 2**63 - 1
_TICKET = re.compile(r"T-([1-9][0-9]{0,18})", re.ASCII)
_JOB = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)


def time_text(at: datetime) -> str:
    """An aware time, to the millisecond: 2026-11-29T20:51:42.123Z."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ticket_name(ticket_id: int | None) -> str | None:
    """500001 → "T-500001"."""
    return None if ticket_id is None else f"T-{ticket_id}"


def ticket_number(name: str) -> int | None:
    """ "T-500001" → 500001; None for a name that no row can have."""
    match = _TICKET.fullmatch(name)
    return _within_bigint(match[1]) if match else None


def job_number(text: str) -> int | None:
    """ "7" → 7; None for a text that no row can have."""
    return _within_bigint(text) if _JOB.fullmatch(text) else None


def _within_bigint(digits: str) -> int | None:
    number = int(digits)
    return number if number <= MAX_ID else None
