"""What the provider's headers say about its quota: when to come back, and how much is left. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

# ASCII digits only: float() also takes "NaN", "1e999", "-1", "1_000" and digits of other scripts.
_NUMBER = re.compile(r"\s*[0-9]+(?:\.[0-9]+)?\s*")
# Nine digits fit into every integer column, and no quota is larger.
_COUNT = re.compile(r"\s*-?[0-9]{1,9}\s*")


@dataclass(frozen=True)
class Remaining:
    """What the provider still lets through at once; below zero after a burst, None when it did not say."""

    requests: int | None
    tokens: int | None


def retry_after_s(headers: httpx.Headers, now: datetime) -> float | None:
    """Seconds from `now` (aware) until the provider wants to be asked again; None without a usable hint.

    `retry-after-ms` wins over `Retry-After`: a recorded provider fixed the second at 30 while its bucket had
    room after 0.2 s. Of a header sent twice the longest usable wait counts; a past date means now (0.0).
    The result is finite and not negative; how long is too long is for the caller to say.
    """
    milliseconds = [_number(text) for text in headers.get_list("retry-after-ms")]
    seconds = [_number_or_date(text, now) for text in headers.get_list("retry-after")]
    waits_s = [ms / 1000 for ms in milliseconds if ms is not None] or [s for s in seconds if s is not None]
    return max(waits_s, default=None)


def remaining(headers: httpx.Headers) -> Remaining:
    """The `x-ratelimit-remaining-*` headers; whatever is not a whole number of up to nine digits is None."""
    return Remaining(
        requests=_count(headers.get("x-ratelimit-remaining-requests", "")),
        tokens=_count(headers.get("x-ratelimit-remaining-tokens", "")),
    )


def _number_or_date(text: str, now: datetime) -> float | None:
    number = _number(text)
    return _until(text, now) if number is None else number


def _number(text: str) -> float | None:
    if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return None


def _until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    # A zone of "-0000" comes back naive; it means UTC.
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _count(text: str) -> int | None:
    return int(text) if _COUNT.fullmatch(text) else None
