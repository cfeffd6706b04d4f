"""What an auditor reads: how many calls were made, by task, outcome and whose work they were."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from simulator.provider.tasks import Task

_ByTask = defaultdict[str, Counter[str]]


class Counters:
    """Counts calls when they arrive, so that a caller killed while it waits has still been counted."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._max_in_flight = 0
        self._calls: _ByTask = defaultdict(Counter)
        self._marks: defaultdict[str, _ByTask] = defaultdict(lambda: defaultdict(Counter))
        self._first_at: float | None = None
        self._last_at: float | None = None

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Around one call, from its arrival to the end of its answer."""
        self.in_flight += 1
        self._max_in_flight = max(self._max_in_flight, self.in_flight)
        try:
            yield
        finally:
            self.in_flight -= 1

    def record(self, task: Task, outcome: str, mark: str | None, at: float) -> None:
        """One call at Unix time `at`; `outcome` is a status, `stalled` or `cut`."""
        self._calls[task][outcome] += 1
        if mark is not None:
            self._marks[mark][task][outcome] += 1
        self._first_at = at if self._first_at is None else self._first_at
        self._last_at = at

    def reset(self) -> None:
        """Start anew; calls under way stay counted as in flight."""
        self._calls.clear()
        self._marks.clear()
        self._first_at = self._last_at = None
        self._max_in_flight = self.in_flight

    def snapshot(self) -> dict[str, Any]:
        """All of it as JSON: `calls` is `{task: {outcome: n}}`, and `marks` the same under each mark.

        A mark is the caller's `X-Client-Request-Id`, `metadata.job_id` or `user`, whichever comes first.
        """
        return {
            "total": sum(counter.total() for counter in self._calls.values()),
            "calls": _plain(self._calls),
            "in_flight": self.in_flight,
            "max_in_flight": self._max_in_flight,
            "first_call_at": _instant(self._first_at),
            "last_call_at": _instant(self._last_at),
            "marks": {mark: _plain(by_task) for mark, by_task in self._marks.items()},
        }


def _plain(by_task: _ByTask) -> dict[str, dict[str, int]]:
    return {task: dict(counter) for task, counter in by_task.items()}


def _instant(at: float | None) -> str | None:
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
