"""The listener's warnings during one replay, when many replays run side by side."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_MESSAGE_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_warnings: ContextVar[list[str] | None] = ContextVar("warnings of this replay", default=None)


class _Collector(logging.Handler):
    """Hands each record to the replay in whose tasks it was logged."""

    def emit(self, record: logging.LogRecord) -> None:
        collected = _warnings.get()
        if collected is not None:
            collected.append(record.getMessage())


_COLLECTOR = _Collector(logging.WARNING)


@contextmanager
def captured_warnings(prefix: str) -> Iterator[list[str]]:
    """Yield the list of warnings of this task and its children, complete at the end, as the recording has them.

    Message ids become `<id>`, and `prefix` is taken from queue names.
    """
    logging.getLogger("simulator.host").addHandler(_COLLECTOR)  # once, however many replays there are
    collected: list[str] = []
    token = _warnings.set(collected)
    try:
        yield collected
    finally:
        _warnings.reset(token)
        collected[:] = [_MESSAGE_ID.sub("<id>", line).replace(prefix, "") for line in collected]
