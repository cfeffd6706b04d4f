"""The app's log lines on their way to the host, each tied to the run it belongs to (functions-host D5)."""

import logging
from collections.abc import Callable

from simulator.host.wire import Head
from simulator.host.worker.context import find_run


class HostHandler(logging.Handler):
    """Sends every record as a `log` frame; `send` may be called from any thread."""

    def __init__(self, send: Callable[[Head], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        try:
            run = find_run()
            text = self.format(record)
            head = {"kind": "log", "level": record.levelno, "text": text, "function": run and run.function}
            self._send(head)
        except Exception:
            self.handleError(record)


def install(send: Callable[[Head], None], *, debug: bool) -> None:
    """Put the handler on the root logger, at INFO, or at DEBUG when asked to."""
    root = logging.getLogger()
    root.addHandler(HostHandler(send))
    root.setLevel(logging.DEBUG if debug else logging.INFO)
