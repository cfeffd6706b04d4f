"""The faults that the recordings' proxy injected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ALWAYS = 10**9
ERROR_CODES = {
    400: "PopReceiptMismatch",
    403: "AuthorizationFailure",
    409: "QueueBeingDeleted",
    500: "InternalError",
    503: "ServerBusy",
}


@dataclass(frozen=True)
class Fault:
    """Requests of one kind, from `from_s` on, but for the first `skip`, are answered wrongly `times` times.

    Exactly one of `status`, `drops` and `late_s` is set.
    """

    request: str
    from_s: float
    skip: int
    times: int
    status: int = 0
    drops: bool = False
    late_s: float = 0.0

    def fits(self, what: str, queue: str) -> bool:
        if self.request == "add to the poison queue":
            return what == "add" and queue.endswith("-poison")
        return what == self.request


def read_fault(raw: dict[str, Any] | None, inputs_at_s: Sequence[float]) -> Fault | None:
    """Read the recording's note of its fault.

    For a late answer `from` notes when it was met first; it was in place before the input that came before.
    """
    if raw is None:
        return None
    answer = raw["answer"]
    late_s = float(answer.removesuffix(" s late")) if str(answer).endswith(" s late") else 0.0
    from_s = -1.0 if raw["from"] == "start" else raw["from"]
    if late_s:
        from_s = max((at_s for at_s in inputs_at_s if 0 < at_s < from_s), default=from_s)
    return Fault(
        request=raw["request"],
        from_s=from_s,
        skip=raw.get("skip", 0),
        # Twelve were more than the recording needed; in a quick replay they might not be enough.
        times=ALWAYS if raw["times"] in ("all", 12) else raw["times"],
        status=answer if isinstance(answer, int) else 0,
        drops=answer == "connection dropped",
        late_s=late_s,
    )


class FaultInjector:
    """Counts requests and says which of them meet the fault."""

    def __init__(self, fault: Fault | None) -> None:
        self._fault = fault
        self._fitting = 0

    def strike(self, what: str, queue: str, at_s: float) -> Fault | None:
        """Return the fault if this request meets it; each request must be asked about once, in order."""
        fault = self._fault
        if fault is None or at_s < fault.from_s or not fault.fits(what, queue):
            return None
        self._fitting += 1
        return fault if fault.skip < self._fitting <= fault.skip + fault.times else None


def error_code(status: int, what: str) -> str:
    """Return the service's word for an injected status."""
    if status == 404:
        return "MessageNotFound" if what in {"update", "delete"} else "QueueNotFound"
    return ERROR_CODES[status]
