"""The breakers: one an endpoint, shared by all instances, so that an outage costs a few calls and no dead letters.

Closed: calls go through; after a minute without a success at most 4 are out until one succeeds, while the other
endpoint is down only one. Open after `threshold` failures in a row (of both endpoints together), or at once when the
set-up is wrong: no call but one trial when `retry_at` has come; only the trial's result counts then. Results of calls
begun before it opened are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from shared.db import Database, Row
from shared.provider.client import Endpoint

COOL_DOWN_S = 10.0
COOL_DOWN_CAP_S = 60.0
CONSTANT_TRIALS = 3  # the first trials come at a steady pace, later ones more and more seldom
CONFIG_COOL_DOWN_S = 60.0
THRESHOLD = 3

_OUT: LiteralString = "ARRAY(SELECT u FROM unnest(it.out_until) AS u WHERE u > clock_timestamp())"

# How many calls may be out at once while the breaker is closed; NULL = any number.
_LIMIT: LiteralString = """CASE
    WHEN EXISTS (SELECT FROM provider_breakers AS other WHERE other.endpoint <> it.endpoint AND other.is_open
                 AND other.reason NOT LIKE 'provider_config:%%' AND other.opened_at > it.last_success_at) THEN 1
    WHEN it.last_success_at < clock_timestamp() - interval '1 minute' THEN 4 END"""

ENTER: LiteralString = (
    """
WITH entered AS (
    UPDATE provider_breakers AS it SET
        trial_id = CASE WHEN is_open THEN %(call_id)s ELSE trial_id END,
        trial_until = CASE WHEN is_open THEN clock_timestamp() + %(lease_s)s * interval '1 second' ELSE trial_until END,
        out_until = CASE WHEN is_open THEN out_until
                    ELSE """
    + _OUT
    + """ || (clock_timestamp() + %(lease_s)s * interval '1 second') END
    WHERE endpoint = %(endpoint)s AND (
        (is_open AND retry_at <= clock_timestamp() AND (trial_until IS NULL OR trial_until < clock_timestamp())
         AND NOT EXISTS (SELECT FROM provider_breakers WHERE is_open AND trial_until > clock_timestamp()))
        OR (NOT is_open AND cardinality("""
    + _OUT
    + ") < "
    + _LIMIT
    + """))
    RETURNING is_open
)
SELECT clock_timestamp() AS began_at, is_open,
       EXISTS (SELECT FROM entered) OR (NOT is_open AND """
    + _LIMIT
    + """ IS NULL) AS may_call,
       coalesce((SELECT is_open FROM entered), false) AS is_trial,
       CASE WHEN is_open THEN greatest(0.5, extract(epoch FROM greatest(retry_at, trial_until) - clock_timestamp()))
            ELSE 0.1 END::float8 AS wait_s,
       reason
FROM provider_breakers AS it WHERE endpoint = %(endpoint)s
"""
)

# "In a row" and "since" go by when calls began: what was under way as an outage set in does not speak for the provider.
SUCCEEDED: LiteralString = """
UPDATE provider_breakers SET is_open = false, failures = 0, trials = 0, trial_id = NULL, trial_until = NULL,
    retry_at = NULL, reason = NULL, last_success_at = greatest(last_success_at, %(began_at)s), out_until = '{}'
WHERE endpoint = %(endpoint)s
  AND ((is_open AND trial_id = %(call_id)s)
       OR (NOT is_open AND opened_at <= %(began_at)s AND failed_call_at < %(began_at)s
           AND (failures > 0 OR out_until <> '{}' OR last_success_at < clock_timestamp() - interval '10 seconds')))
"""

# It is one provider: failures of the other endpoint count, and while that one is open, the first failure here is
# enough. A wrong set-up is its endpoint's own matter.
_OPENS: LiteralString = """(it.is_open OR %(at_once)s OR it.failures + 1 + CASE
    WHEN other.reason LIKE 'provider_config:%%' THEN 0 WHEN other.is_open THEN %(threshold)s ELSE other.failures
    END >= %(threshold)s) """

# A trial that met an outage speaks for both endpoints: the other one's trial is put off as long.
POSTPONE: LiteralString = """
UPDATE provider_breakers SET retry_at = greatest(retry_at, (
    SELECT trial.retry_at FROM provider_breakers AS trial WHERE trial.endpoint = %(endpoint)s))
WHERE endpoint <> %(endpoint)s AND is_open
"""

# Both rows are locked first, for failures come together and each has to see the ones before it. One that does not open
# the breaker makes room for one more call after a quiet minute, not for all that are still out.
FAILED: LiteralString = (
    """
WITH both_endpoints AS MATERIALIZED (SELECT * FROM provider_breakers ORDER BY endpoint FOR UPDATE)
UPDATE provider_breakers AS it SET
    failures = it.failures + 1, failed_call_at = greatest(it.failed_call_at, %(began_at)s),
    trials = CASE WHEN it.is_open THEN it.trials + 1 ELSE 0 END,
    is_open = """
    + _OPENS
    + ", opened_at = CASE WHEN "
    + _OPENS
    + """THEN clock_timestamp() ELSE it.opened_at END,
    retry_at = clock_timestamp() + interval '1 second' * CASE WHEN %(at_once)s THEN %(config_cool_down_s)s
        ELSE least(%(cap_s)s, %(cool_down_s)s * 2 ^ greatest(0, it.trials + 1 - %(constant_trials)s)) END,
    reason = %(reason)s, trial_id = NULL, trial_until = NULL,
    out_until = CASE WHEN """
    + _OPENS
    + """THEN '{}' ELSE it.out_until[2:] END
FROM both_endpoints AS other
WHERE it.endpoint = %(endpoint)s AND other.endpoint <> it.endpoint
  AND ((it.is_open AND it.trial_id = %(call_id)s) OR (NOT it.is_open AND it.opened_at <= %(began_at)s))
RETURNING it.is_open
"""
)

STATES: LiteralString = """
SELECT endpoint, CASE WHEN NOT is_open THEN 'closed' WHEN retry_at <= clock_timestamp() THEN 'half_open' ELSE 'open' END
    AS state, CASE WHEN is_open THEN retry_at END AS retry_at, CASE WHEN is_open THEN reason END AS reason
FROM provider_breakers ORDER BY endpoint
"""


@dataclass(frozen=True)
class Entry:
    """Whether a call may be made, and what its result has to name."""

    began_at: datetime
    is_open: bool
    may_call: bool
    is_trial: bool
    wait_s: float
    reason: str | None


@dataclass(frozen=True)
class Breaker:
    """One endpoint's breaker. `lease_s`: how long a trial may stay without a result."""

    db: Database
    endpoint: Endpoint
    lease_s: float
    threshold: int
    cool_down_s: float = COOL_DOWN_S

    async def enter(self, call_id: UUID) -> Entry:
        """Ask whether the call may be made."""
        params = {"endpoint": self.endpoint, "call_id": call_id, "lease_s": self.lease_s}
        entry = await self.db.fetch_one(ENTER, params, Entry)
        if entry is None:
            raise RuntimeError(f"the breaker {self.endpoint} has no row")
        return entry

    async def succeeded(self, call_id: UUID, entry: Entry) -> None:
        """The provider answered; what it answered is the job's matter."""
        await self.db.execute(SUCCEEDED, self._result(call_id, entry))

    async def failed(self, call_id: UUID, entry: Entry, reason: str, *, at_once: bool) -> bool:
        """The provider is in trouble, or (`at_once`) the set-up is wrong. Whether the breaker is open now."""
        row = await self.db.fetch_dict(
            FAILED,
            self._result(call_id, entry)
            | {
                "reason": reason,
                "at_once": at_once,
                "threshold": self.threshold,
                "cool_down_s": self.cool_down_s,
                "cap_s": COOL_DOWN_CAP_S,
                "constant_trials": CONSTANT_TRIALS,
                "config_cool_down_s": CONFIG_COOL_DOWN_S,
            },
        )
        if entry.is_trial and not at_once:
            await self.db.execute(POSTPONE, {"endpoint": self.endpoint})
        return bool(row and row["is_open"])

    def _result(self, call_id: UUID, entry: Entry) -> dict[str, Any]:
        return {"endpoint": self.endpoint, "call_id": call_id, "began_at": entry.began_at}


def threshold(max_attempts: int) -> int:
    """After how many failures in a row a breaker opens: before a job that is alone has lost its last attempt."""
    return max(1, min(THRESHOLD, max_attempts - 1))


async def states(db: Database) -> list[Row]:
    """Every breaker: endpoint, state, retry_at, reason."""
    return await db.fetch_dicts(STATES)
