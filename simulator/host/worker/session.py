"""The worker's side of the conversation: it says what the app has, then runs what the host sends."""

import asyncio
import os
import signal
import threading
import traceback

from simulator.host.wire import Head, Wire
from simulator.host.worker.functions import AppError, load_functions
from simulator.host.worker.runner import Runner


class Session:
    """One worker's life, from the first frame to the last."""

    def __init__(self, loop: asyncio.AbstractEventLoop, token: str) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._wire = Wire(self._on_frame, on_lost=lambda: os._exit(1))
        self._token = token
        self._runner: Runner | None = None

    def send_log(self, head: Head) -> None:
        """Send a `log` frame; may be called from any thread."""
        if threading.get_ident() == self._thread:
            self._wire.send(head)
        else:
            self._loop.call_soon_threadsafe(self._wire.send, head)

    async def serve(self, port: int) -> None:
        """Connect, load the app, run what comes. Does not return: the process ends with the connection."""
        await self._loop.create_connection(lambda: self._wire, "127.0.0.1", port)
        self._wire.send({"kind": "hello", "token": self._token})
        try:
            functions = load_functions()
        except AppError as error:
            self._wire.send({"kind": "failed", "error": str(error)})
        except Exception:
            self._wire.send({"kind": "failed", "error": traceback.format_exc()})
        else:
            threads = os.environ.get("PYTHON_THREADPOOL_THREAD_COUNT")
            self._runner = Runner(functions, self._wire.send, threads)
            descriptions = [function.describe() for function in functions.values()]
            self._wire.send({"kind": "ready", "functions": descriptions})
        await self._loop.create_future()

    def _on_frame(self, head: Head, body: bytes) -> None:
        if head["kind"] == "stopping":
            _raise_sigterm_if_awaited()
        elif self._runner is not None:
            self._runner.start(head, body)


def _raise_sigterm_if_awaited() -> None:
    """Let an app that has its own SIGTERM handler notice the stop, as where Azure signals a whole container.

    Without one the signal would end the worker at once; the stand-in lets the runs have their drain time instead.
    """
    if signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, signal.SIG_IGN, None):
        signal.raise_signal(signal.SIGTERM)
