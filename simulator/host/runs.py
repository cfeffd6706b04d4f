"""One run of a function as the host accounts for it: its id, its log lines, its time limit (A10, A11)."""

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from simulator.host.queue_output import OutputFailed, QueueWriter
from simulator.host.wire import Head
from simulator.host.worker_pool import WorkerPool
from simulator.host.worker_process import WorkerLost

Writers = Mapping[str, Mapping[str, QueueWriter]]  # by function, by output

timeouts = logging.getLogger("Host.General")


@dataclass(frozen=True, slots=True)
class Outcome:
    """`head` is the worker's `result` frame, empty when there is none; `body` the HTTP response's."""

    succeeded: bool
    head: Head
    body: bytes = b""


class Runs:
    """Starts runs and counts the unfinished ones. A run never raises: whatever happens, it has an outcome."""

    def __init__(self, pool: WorkerPool, writers: Writers, timeout_s: float | None) -> None:
        self._pool = pool
        self._writers = writers
        self._timeout_s = timeout_s
        self.outstanding = 0
        self._settled = asyncio.Event()
        self._settled.set()

    async def run(self, function: str, reason: str, head: Head, body: bytes) -> Outcome:
        """Run `function` on a worker; `head` and `body` are the `invoke` frame without id and name."""
        run_id = str(uuid.uuid4())
        log = logging.getLogger(f"Function.{function}")
        log.info("Executing 'Functions.%s' (Reason='%s', Id=%s)", function, reason, run_id)
        started_at = time.monotonic()
        self.outstanding += 1
        self._settled.clear()
        try:
            outcome = await self._invoke({"kind": "invoke", "id": run_id, "function": function, **head}, body)
        finally:
            self.outstanding -= 1
            if self.outstanding == 0:
                self._settled.set()
        took_ms = round((time.monotonic() - started_at) * 1000)
        _log_end(log, function, run_id, took_ms, outcome)
        return outcome

    async def wait_until_settled(self) -> None:
        await self._settled.wait()

    async def _invoke(self, head: Head, body: bytes) -> Outcome:
        try:
            async with asyncio.timeout(self._timeout_s):
                result, content = await self._pool.invoke(head, body)
        except WorkerLost as lost:
            return Outcome(False, {"error": str(lost)})
        except TimeoutError:
            return await self._end_overdue(head)
        try:
            for name, text in result.get("outputs", {}).items():
                await self._writers[head["function"]][name].write(text)
        except OutputFailed as error:
            return Outcome(False, {"error": str(error)})
        return Outcome(result["succeeded"], result, content)

    async def _end_overdue(self, head: Head) -> Outcome:
        """The worker is killed with all it has; the run fails when the next one has been started."""
        reason = f"Timeout value of {self._timeout_s:g} s was exceeded by function: {head['function']}"
        timeouts.error("%s (Id: %s)", reason, head["id"])
        timeouts.warning(
            "A function timeout has occurred. Restarting worker process executing invocationId '%s'.", head["id"]
        )
        await self._pool.replace(head["id"], reason)
        timeouts.warning("Restart of language worker process(es) completed.")
        return Outcome(False, {"error": reason})


def _log_end(log: logging.Logger, function: str, run_id: str, took_ms: int, outcome: Outcome) -> None:
    if outcome.succeeded:
        log.info("Executed 'Functions.%s' (Succeeded, Id=%s, Duration=%dms)", function, run_id, took_ms)
        return
    told = outcome.head.get("stack") or outcome.head["error"]
    log.error("Executed 'Functions.%s' (Failed, Id=%s, Duration=%dms)\n%s", function, run_id, took_ms, told)
