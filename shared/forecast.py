"""How long a new job will wait, and when a full queue has room again. Pure."""

from __future__ import annotations

import math

from shared.jobs.submit import Submission
from shared.provider.lane import Limits

LONGEST_RETRY_S = 300


def wait_s(seen: Submission, *, chat_calls: int, limits: Limits) -> float | None:
    """Seconds until the job starts: 0 when it can start now, None when nothing is known.

    With a quota: the calls ahead beyond what the lane holds now, over its rate; a job is announced a little before
    its call can be made. Without one: the jobs ahead, at the pace of the last minute. In any case not before the
    provider may be called at all.
    """
    if not limits.are_none:
        calls_ahead = seen.queued_ahead * chat_calls + seen.running_calls
        queue_s = (calls_ahead - seen.lane_calls) / seen.lane_calls_per_s - limits.forecast_s
    elif seen.queued_ahead == 0:
        queue_s = 0.0
    elif seen.finished_last_minute:
        queue_s = 60 * seen.queued_ahead / seen.finished_last_minute
    else:
        return None
    return round(max(0.0, queue_s, seen.blocked_s), 1)


def room_in_s(seen: Submission, *, chat_calls: int, limits: Limits) -> int:
    """Whole seconds until a full queue should have let one job go, at its real pace; 1 to 300."""
    jobs_per_s = seen.finished_last_minute / 60
    if jobs_per_s == 0 and not limits.are_none and chat_calls:
        jobs_per_s = seen.lane_calls_per_s / chat_calls
    pace_s = 1 / jobs_per_s if jobs_per_s else LONGEST_RETRY_S
    return max(1, min(LONGEST_RETRY_S, math.ceil(pace_s + seen.blocked_s)))
