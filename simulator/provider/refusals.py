"""What comes instead of an answer: refusals by the quota, and failures of the service."""

import math
import re
from email.utils import formatdate
from typing import Final

from simulator.provider.weather import Treatment
from simulator.provider.wire import Reply, failure, rate_limit_body

# Recorded: always half a minute, however soon there was room.
_FIXED_RETRY_AFTER: Final = "30"
_HINT_TIME: Final = re.compile(r"NOW([+-]\d+)")


def rate_limited(model: str, wait_s: float, windowed: bool) -> Reply:
    """The bucket's own 429, `wait_s` seconds before it has room again."""
    whole_seconds = str(math.ceil(wait_s)) if windowed else _FIXED_RETRY_AFTER
    hints = (("retry-after", whole_seconds), ("retry-after-ms", str(math.ceil(wait_s * 1000))))
    return Reply(429, rate_limit_body(model), hints)


def hinted(model: str, treatment: Treatment, at: float) -> Reply:
    """A 429 with exactly the hints of `treatment`; `NOW+5` in one is a date 5 s after Unix time `at`."""

    def date(offset: re.Match[str]) -> str:
        return formatdate(at + int(offset[1]), usegmt=True).removesuffix(" GMT")

    given = treatment.retry_after
    hints = [("retry-after", hint) for hint in ((given,) if isinstance(given, str) else given or ())]
    if treatment.retry_after_ms is not None:
        hints.append(("retry-after-ms", treatment.retry_after_ms))
    dated = tuple((name, _HINT_TIME.sub(date, hint)) for name, hint in hints)
    return Reply(429, rate_limit_body(model) if treatment.body is None else treatment.body, dated)


def failed(treatment: Treatment) -> Reply:
    """The service's own failure: 503 in an outage, otherwise the status and body the treatment gives."""
    status = 503 if treatment.mode == "outage" else treatment.status
    body = failure("The service cannot process your request now.", "server_error", None)
    return Reply(status, body if treatment.body is None else treatment.body)
