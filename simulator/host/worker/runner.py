"""Runs functions: async ones on the event loop, all others on one shared pool of threads (functions-host D1)."""

import asyncio
import contextvars
import logging
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from simulator.host.wire import Head
from simulator.host.worker.arguments import make_arguments
from simulator.host.worker.context import Run, current_run, runs_by_id, thread_storage
from simulator.host.worker.functions import AppFunction
from simulator.host.worker.outputs import pack_result

log = logging.getLogger(__name__)

MOST_THREADS = 1000


class Runner:
    """All runs of this worker; `reply` sends a run's result to the host."""

    def __init__(
        self, functions: Mapping[str, AppFunction], reply: Callable[[Head, bytes], None], thread_count: str | None
    ) -> None:
        self._functions = functions
        self._reply = reply
        self._threads = ThreadPoolExecutor(read_thread_count(thread_count))
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, head: Head, body: bytes) -> None:
        """Begin a run; its result follows, unless the run ends the process or swallows a cancellation."""
        task = asyncio.get_running_loop().create_task(self._run(head, body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, head: Head, body: bytes) -> None:
        """Only an `Exception` is a failed run: a SystemExit goes through and ends the worker (A10).

        A CancelledError that leaves the function is never answered, as in Azure: the host's functionTimeout ends it.
        """
        function = self._functions[head["function"]]
        run = Run(head["id"], function.name)
        current_run.set(run)
        runs_by_id[run.id] = run
        try:
            result, content = await self._call(function, head, body)
        except Exception as error:
            result, content = _describe_failure(error), b""
        except asyncio.CancelledError:
            log.error("The function let a CancelledError out: the host gets no answer and waits for functionTimeout")
            return
        finally:
            runs_by_id.pop(run.id, None)
        self._reply({"kind": "result", "id": run.id, **result}, content)

    async def _call(self, function: AppFunction, head: Head, body: bytes) -> tuple[Head, bytes]:
        arguments, outputs = make_arguments(function, head, body)
        if function.is_async:
            result = await function.call(**arguments)
        else:
            context = contextvars.copy_context()
            result = await asyncio.get_running_loop().run_in_executor(
                self._threads, context.run, _call_in_thread, function, head["id"], arguments
            )
        return pack_result(function, result, outputs)


def read_thread_count(text: str | None) -> int | None:
    """PYTHON_THREADPOOL_THREAD_COUNT, 1 to 1000; for anything else Python's own default, None (D1)."""
    if not text:
        return None
    if text.strip().isdecimal() and 1 <= int(text) <= MOST_THREADS:
        return int(text)
    log.warning("PYTHON_THREADPOOL_THREAD_COUNT must be a number between 1 and %d: using the default", MOST_THREADS)
    return None


def _call_in_thread(function: AppFunction, run_id: str, arguments: dict[str, Any]) -> Any:
    thread_storage.invocation_id = run_id
    try:
        return function.call(**arguments)
    finally:
        thread_storage.invocation_id = None


def _describe_failure(error: Exception) -> Head:
    stack = "".join(traceback.format_exception(error))
    return {"succeeded": False, "error": f"{type(error).__name__}: {error}", "stack": stack}
