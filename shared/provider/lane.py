"""The lane: the provider's chat quota, shared by all instances through one row.

Two buckets, calls and tokens, that refill all the time. A permit takes from both just before a call; the relay
announces only as many jobs as the forecast can serve. Clocks are read after the row's lock is held
(`clock_timestamp()`, never `now()`), so that a statement that waited does not grant the same refill twice.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import LiteralString

from shared.db import Database
from shared.provider.hints import Remaining

UNLIMITED = 1e9
FORECAST_S = 2.5  # how far ahead jobs are announced, so that workers never wait for the relay
PATIENCE_S = 2.0  # how long a run waits for a permit before it gives its job back

# Both levels as they are at `clock_timestamp()`; %(…)s are the Limits.
CALLS_NOW: LiteralString = """
least(%(burst)s, calls + %(calls_per_s)s * extract(epoch FROM greatest(at, clock_timestamp()) - at))
"""
TOKENS_NOW: LiteralString = """
least(%(token_burst)s, tokens + %(tokens_per_s)s * extract(epoch FROM greatest(at, clock_timestamp()) - at))
"""
_PAUSED_S: LiteralString = """
greatest(0, coalesce(extract(epoch FROM paused_until - clock_timestamp()), 0))
"""

# What both buckets let through: calls now (none while the lane is paused), and how many a second come back.
LEVEL: LiteralString = (
    """
SELECT CASE WHEN paused_s > 0 THEN 0 ELSE least(calls, tokens / per_call) END::float8 AS calls,
       least(%(calls_per_s)s, %(tokens_per_s)s / per_call)::float8 AS calls_per_s,
       CASE WHEN paused_s > 0 THEN paused_until END AS paused_until, paused_s::float8 AS paused_s
FROM (SELECT"""
    + CALLS_NOW
    + "AS calls,"
    + TOKENS_NOW
    + "AS tokens, greatest(mean_tokens, 1) AS per_call, paused_until,"
    + _PAUSED_S
    + """AS paused_s FROM provider_lane WHERE name = 'chat') AS lane
"""
)

# Calls that can be made within the forecast.
FORECAST: LiteralString = (
    "SELECT calls + calls_per_s * greatest(0, %(forecast_s)s - paused_s) AS calls FROM (" + LEVEL + ") AS level"
)

# While a due ticket waits for the lane, others get one permit in four: tickets come first, reports never starve. Where
# there is plenty, or nobody takes it, no ticket waits for the lane.
_MUST_YIELD: LiteralString = (
    """
%(yields)s AND since_report < 3 AND ("""
    + CALLS_NOW
    + "< least(4, %(burst)s) OR"
    + TOKENS_NOW
    + """< least(4 * %(cost)s, %(token_burst)s)) AND EXISTS (
    SELECT FROM outbox WHERE queue = 'tickets' AND purpose = 'work' AND coalesce(endpoint, '') = 'chat'
    AND due_at <= statement_timestamp())
"""
)

TAKE: LiteralString = (
    """
WITH permit AS (
    UPDATE provider_lane SET calls ="""
    + CALLS_NOW
    + "- 1, tokens ="
    + TOKENS_NOW
    + """- %(cost)s, since_report = CASE WHEN %(yields)s THEN 0 ELSE since_report + 1 END,
        mean_tokens = CASE mean_tokens WHEN 0 THEN %(cost)s ELSE 0.9 * mean_tokens + 0.1 * %(cost)s END,
        at = greatest(at, clock_timestamp())
    WHERE name = 'chat' AND (paused_until IS NULL OR paused_until <= clock_timestamp())
      AND"""
    + CALLS_NOW
    + ">= 1 AND"
    + TOKENS_NOW
    + """>= least(%(cost)s, %(token_burst)s) AND NOT ("""
    + _MUST_YIELD
    + """)
    RETURNING name
)
SELECT EXISTS (SELECT FROM permit) AS is_granted,
       greatest(CASE WHEN"""
    + _MUST_YIELD
    + """THEN 0.3 ELSE 0 END, """
    + _PAUSED_S
    + ", (1 -"
    + CALLS_NOW
    + ") / %(calls_per_s)s, (least(%(cost)s, %(token_burst)s) -"
    + TOKENS_NOW
    + ") / %(tokens_per_s)s, 0)::float8 AS wait_s FROM provider_lane WHERE name = 'chat'"
)

# A call that was not made after all.
GIVE_BACK: LiteralString = """
UPDATE provider_lane SET calls = calls + 1, tokens = tokens + %(cost)s WHERE name = 'chat'
"""

# An answer: it took another number of tokens than was thought, and what the provider says is left counts only
# downwards (NULL: it did not say).
SETTLE: LiteralString = (
    """
UPDATE provider_lane SET calls = least("""
    + CALLS_NOW
    + ", %(calls_left)s), tokens = least("
    + TOKENS_NOW
    + """+ %(unused)s, %(tokens_left)s), refusals = 0, at = greatest(at, clock_timestamp())
WHERE name = 'chat'
"""
)

# The provider's hint counts, and the longest one seen. Without one, or where "now" was refused before, the back-off
# does, from refusal to refusal; those that come while nobody may call are of one burst.
PAUSE: LiteralString = (
    """
UPDATE provider_lane SET calls = 0, tokens ="""
    + TOKENS_NOW
    + """, at = greatest(at, clock_timestamp()),
    refusals = refusals + CASE WHEN paused_until > clock_timestamp() THEN 0 ELSE 1 END,
    paused_until = greatest(paused_until, clock_timestamp() + interval '1 second' * least(%(longest_s)s, coalesce(
        CASE WHEN %(hint_s)s::float8 > 0 OR refusals = 0 THEN %(hint_s)s END,
        random() * least(%(cap_s)s, %(base_s)s * 2 ^ least(refusals, 60)))))
WHERE name = 'chat'
RETURNING extract(epoch FROM paused_until - clock_timestamp())::float8 AS wait_s
"""
)


@dataclass(frozen=True)
class Limits:
    """What the provider lets through: bursts at once, and a steady rate a second."""

    burst: float
    calls_per_s: float
    token_burst: float
    tokens_per_s: float
    forecast_s: float = FORECAST_S

    @property
    def are_none(self) -> bool:
        """Whether neither calls nor tokens are limited."""
        return min(self.calls_per_s, self.tokens_per_s) >= UNLIMITED

    @classmethod
    def per_minute(cls, *, calls: int, burst: int | None, tokens: int) -> Limits:
        """Limits a minute, 0 = none; `burst` None = as many as a minute's."""
        return cls(
            burst=(burst or calls) if calls else UNLIMITED,
            calls_per_s=calls / 60 if calls else UNLIMITED,
            token_burst=tokens or UNLIMITED,
            tokens_per_s=tokens / 60 if tokens else UNLIMITED,
        )


@dataclass(frozen=True)
class Permit:
    """Whether one call may be made now; if not, in how many seconds it is worth asking again."""

    is_granted: bool
    wait_s: float


@dataclass(frozen=True)
class Level:
    """Calls that could be made now, how many a second come back, and until when nobody may (None: not paused)."""

    calls: float
    calls_per_s: float
    paused_until: datetime | None
    paused_s: float


@dataclass(frozen=True)
class Lane:
    """The shared row, seen with this app's limits. `pause_max_s`: no hint of the provider counts for longer."""

    db: Database
    limits: Limits
    pause_max_s: float

    async def take(self, cost: int, *, yields: bool = False) -> Permit:
        """Ask for one call of about `cost` tokens; who `yields` lets tickets go first."""
        permit = await self.db.fetch_one(TAKE, asdict(self.limits) | {"cost": cost, "yields": yields}, Permit)
        if permit is None:
            raise RuntimeError("the lane has no row")
        return permit

    async def level(self) -> Level:
        """How the lane stands now."""
        level = await self.db.fetch_one(LEVEL, asdict(self.limits), Level)
        if level is None:
            raise RuntimeError("the lane has no row")
        return level

    async def give_back(self, cost: int) -> None:
        """The call was not made."""
        await self.db.execute(GIVE_BACK, {"cost": cost})

    async def settle(self, cost: int, used: int | None, left: Remaining, *, took_s: float) -> None:
        """Correct the levels by an answer: tokens really used, and what the provider said was left.

        It said so up to `took_s` seconds ago, of calls rounded down, of tokens before this call's were known: that
        much more is allowed for.
        """
        calls_left, tokens_left = left.requests, left.tokens
        correction = {
            "unused": 0 if used is None else cost - used,
            "calls_left": None if calls_left is None else calls_left + 1 + self.limits.calls_per_s * took_s,
            "tokens_left": None if tokens_left is None else tokens_left + cost + self.limits.tokens_per_s * took_s,
        }
        await self.db.execute(SETTLE, asdict(self.limits) | correction)

    async def pause(self, hint_s: float | None, *, base_s: float, cap_s: float) -> float:
        """The provider refused: nobody calls until the latest hint seen. Returns seconds until then.

        Without a usable hint the back-off of `base_s` and `cap_s` seconds decides.
        """
        params = {"hint_s": hint_s, "base_s": base_s, "cap_s": cap_s, "longest_s": self.pause_max_s}
        row = await self.db.fetch_dict(PAUSE, asdict(self.limits) | params)
        return max(0.0, row["wait_s"]) if row else 0.0
