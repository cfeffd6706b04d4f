"""The provider's quota: buckets that refill all the time, as recorded, or fixed windows of a minute.

Pure: every question brings its own `now` (seconds on any clock that never goes back).
"""

import math
from dataclasses import dataclass
from typing import Protocol

_MINUTE_S = 60.0
_ROUNDING = 1e-9


class Meter(Protocol):
    """One limited thing (requests or tokens), `limit` a minute."""

    limit: int

    def room_in(self, amount: float, now: float) -> float:
        """Seconds until `amount` would be let through; 0 = at once."""
        ...

    def take(self, amount: float, now: float) -> None:
        """Use `amount` up."""
        ...

    def remaining(self, now: float) -> int:
        """Whole units left."""
        ...


class Refilling:
    """A bucket that holds `capacity` and gains `limit` a minute continuously."""

    def __init__(self, limit: int, capacity: int, now: float) -> None:
        self.limit = limit
        self._capacity = capacity
        self._rate = limit / _MINUTE_S
        self._level = float(capacity)
        self._at = now

    def room_in(self, amount: float, now: float) -> float:
        # More than the bucket ever holds goes through when it is full, or it would never go through.
        missing = min(amount, self._capacity) - self._refill(now)
        return missing / self._rate if missing > _ROUNDING else 0.0

    def take(self, amount: float, now: float) -> None:
        self._level = self._refill(now) - amount

    def remaining(self, now: float) -> int:
        return math.floor(self._refill(now))

    def _refill(self, now: float) -> float:
        self._level = min(self._capacity, self._level + max(0.0, now - self._at) * self._rate)
        self._at = max(self._at, now)
        return self._level


class Windowed:
    """A count that starts anew every 60 s, the first window at the first call."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0.0
        self._started: float | None = None

    def room_in(self, amount: float, now: float) -> float:
        started = self._turn(now)
        fits = self._used + min(amount, self.limit) <= self.limit
        return 0.0 if fits else started + _MINUTE_S - now

    def take(self, amount: float, now: float) -> None:
        self._turn(now)
        self._used += amount

    def remaining(self, now: float) -> int:
        self._turn(now)
        return math.floor(self.limit - self._used)

    def _turn(self, now: float) -> float:
        if self._started is None:
            self._started = now
        windows = math.floor((now - self._started) / _MINUTE_S)
        if windows > 0:
            self._started += windows * _MINUTE_S
            self._used = 0.0
        return self._started


@dataclass(frozen=True, slots=True)
class Quota:
    """What one deployment allows; a missing meter means that this thing is not limited."""

    requests: Meter | None = None
    tokens: Meter | None = None

    def ask(self, tokens: int, now: float) -> float:
        """Let a call of `tokens` through and charge it: 0. Or refuse it: seconds until there is room."""
        asked = [(meter, amount) for meter, amount in ((self.requests, 1), (self.tokens, tokens)) if meter]
        wait_s = max((meter.room_in(amount, now) for meter, amount in asked), default=0.0)
        if wait_s == 0:
            for meter, amount in asked:
                meter.take(amount, now)
        return wait_s

    def headers(self, now: float, refused: bool = False) -> tuple[tuple[str, str], ...]:
        """The `x-ratelimit-…` headers that every answer carries."""
        headers: tuple[tuple[str, str], ...] = ()
        if self.requests:
            left = self.requests.remaining(now)
            # Recorded: the last call let through sees 0, a refused one -1.
            headers += _limit_headers("requests", self.requests.limit, -1 if refused and left == 0 else left)
        if self.tokens:
            headers += _limit_headers("tokens", self.tokens.limit, max(0, self.tokens.remaining(now)))
        return headers


def _limit_headers(what: str, limit: int, left: int) -> tuple[tuple[str, str], ...]:
    return (f"x-ratelimit-limit-{what}", str(limit)), (f"x-ratelimit-remaining-{what}", str(left))


def open_quotas(rpm: int, burst: int, tpm: int, windowed: bool, now: float) -> tuple[Quota, Quota]:
    """Full quotas of the two deployments, chat and embeddings; `rpm` 0 = no quota, `tpm` 0 = any tokens.

    Recorded: embeddings are limited by tokens only.
    """

    def meter(limit: int, capacity: int) -> Meter | None:
        if limit == 0:
            return None
        return Windowed(limit) if windowed else Refilling(limit, capacity, now)

    if rpm == 0:
        return Quota(), Quota()
    return Quota(requests=meter(rpm, burst), tokens=meter(tpm, tpm)), Quota(tokens=meter(tpm, tpm))
