"""The workers of a host: runs go round among them, a dead one is replaced, too many deaths end the host (A10, A11)."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from simulator.host.times import HostTimes
from simulator.host.wire import Head
from simulator.host.worker_child import Launch
from simulator.host.worker_process import Reply, StartFailed, WorkerProcess

log = logging.getLogger(__name__)

MOST_RESTARTS = 3  # per worker process
EXIT_NORMAL = 0
EXIT_FOR_RESTART = 200


class WorkerPool:
    """`give_up` is called, once, when the host has to end for want of a worker that lives."""

    def __init__(self, launch: Launch, count: int, times: HostTimes, give_up: Callable[[str], None]) -> None:
        self._launch = launch
        self._count = count
        self._times = times
        self._give_up = give_up
        self._workers: list[WorkerProcess] = []
        self._turns = itertools.count()
        self._available = asyncio.Event()
        self._starting = asyncio.Lock()
        self._errors: list[float] = []
        self._is_stopping = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> list[dict[str, Any]]:
        """Start the first worker and return the functions it found; further ones follow. Raises StartFailed."""
        await self._add_worker()
        for _ in range(1, self._count):
            self._spawn(self._start_another())
        return self._workers[0].functions

    async def invoke(self, head: Head, body: bytes) -> Reply:
        """Run a function; waits while there is no worker. Raises WorkerLost."""
        await self._available.wait()
        worker = self._workers[next(self._turns) % len(self._workers)]
        return await worker.invoke(head, body)

    async def replace(self, run_id: str, reason: str) -> None:
        """Kill the worker that has this run, failing all that it has, and wait for the next one (A11)."""
        worker = next((worker for worker in self._workers if worker.is_running(run_id)), None)
        if worker is None:
            return
        self._remove(worker)
        worker.kill()
        worker.fail_runs(reason)
        await self._start_again()

    def tell_stopping(self) -> None:
        """Let the app know that the host has begun to stop; from now on no worker is started."""
        self._is_stopping = True
        for worker in self._workers:
            worker.tell_stopping()

    def kill(self) -> None:
        """Kill all workers and wait for nothing."""
        for worker in self._workers:
            worker.kill()

    async def close(self) -> None:
        """Kill all workers and wait until they are gone. What still runs is never answered."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(worker.close() for worker in self._workers))

    async def _start_another(self) -> None:
        async with self._starting:
            await asyncio.sleep(self._times.restart_interval_seconds)
            await self._try_to_start()

    async def _add_worker(self) -> None:
        worker = await WorkerProcess.start(self._launch, self._times.worker_start_seconds)
        self._workers.append(worker)
        self._available.set()
        self._spawn(self._watch(worker))
        log.info("Worker process started and initialized.")

    def _remove(self, worker: WorkerProcess) -> None:
        self._workers.remove(worker)
        if not self._workers:
            self._available.clear()

    async def _watch(self, worker: WorkerProcess) -> None:
        code = await worker.wait_until_ended()
        if worker not in self._workers:
            return
        if code == EXIT_NORMAL:
            log.warning("The worker has exited with code 0: as in Azure nothing replaces it, and its runs hang.")
            return
        reason = worker.describe_exit(code)
        self._remove(worker)
        worker.fail_runs(reason)
        if code != EXIT_FOR_RESTART:
            log.error("%s", reason)
            self._count_error()
        await self._start_again()

    def _count_error(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._errors and now - self._errors[-1] > self._times.restart_window_seconds:
            self._errors.clear()
        self._errors.append(now)

    async def _start_again(self) -> None:
        """Start a worker in place of a lost one: one at a time, not too often, not for ever."""
        async with self._starting:
            while not self._is_stopping and len(self._errors) <= MOST_RESTARTS * self._count:
                is_started = await self._try_to_start()
                await asyncio.sleep(self._times.restart_interval_seconds)
                if is_started:
                    return
            if not self._workers and not self._is_stopping:
                self._give_up("Exceeded language worker restart retry count for runtime:python.")

    async def _try_to_start(self) -> bool:
        try:
            await self._add_worker()
        except StartFailed as error:
            log.error("Failed to start a new language worker: %s", error)
            self._count_error()
            return False
        return True

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
