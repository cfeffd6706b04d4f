"""One worker as the host uses it: it is sent runs, and its death fails all that it had (functions-host A10)."""

import asyncio
import contextlib
import logging
import secrets
from typing import Any

from simulator.host.wire import Head, Wire
from simulator.host.worker_child import Launch, WorkerChild

LAST_FRAMES_S = 1.0  # what a dying worker had sent is still read, for so long at most

Reply = tuple[Head, bytes]


class WorkerLost(Exception):
    """The run ended with its worker."""


class StartFailed(Exception):
    """No worker: the app cannot be loaded, or the process ended or hung before it was."""


class WorkerProcess:
    """A process that has loaded the app; `functions` is what it found there."""

    functions: list[dict[str, Any]]
    _child: WorkerChild

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._wire: Wire | None = None
        self._loaded: asyncio.Future[list[dict[str, Any]]] = self._loop.create_future()
        self._disconnected = asyncio.Event()
        self._runs: dict[str, asyncio.Future[Reply]] = {}
        self._death: Exception | None = None

    @classmethod
    async def start(cls, launch: Launch, within_s: float) -> "WorkerProcess":
        """Start a process and wait until it has loaded the app. Raises StartFailed."""
        worker, token = cls(), secrets.token_urlsafe()
        server = await worker._loop.create_server(lambda: worker._greet(token), "127.0.0.1", 0)
        try:
            port = server.sockets[0].getsockname()[1]
            worker._child = await WorkerChild.start(launch, port=port, token=token)
            worker.functions = await worker._wait_until_loaded(within_s)
        finally:
            server.close()
        return worker

    @property
    def pid(self) -> int:
        return self._child.pid

    async def invoke(self, head: Head, body: bytes) -> Reply:
        """Run a function; the reply is its `result` frame. Raises WorkerLost when the worker dies first."""
        if self._death is not None:
            raise self._death
        reply: asyncio.Future[Reply] = self._loop.create_future()
        self._runs[head["id"]] = reply
        self._send(head, body)
        return await reply

    def is_running(self, run_id: str) -> bool:
        return run_id in self._runs

    def tell_stopping(self) -> None:
        """Let the app's own SIGTERM handler know that the host has begun to stop."""
        self._send({"kind": "stopping"})

    async def wait_until_ended(self) -> int:
        """The exit code, once everything that the worker had sent has been read."""
        await self._child.has_ended.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._disconnected.wait(), LAST_FRAMES_S)
        return self._child.exit_code or 0

    def fail_runs(self, reason: str) -> None:
        """Fail all runs it has, and any that may still come."""
        self._death = WorkerLost(reason)
        for reply in self._runs.values():
            if not reply.done():
                reply.set_exception(self._death)
        self._runs.clear()

    def describe_exit(self, code: int) -> str:
        complaints = "".join(f"\n{line}" for line in self._child.complaints)
        return f"python exited with code {code} (0x{code:X}){complaints}"

    def kill(self) -> None:
        self._child.kill()

    async def close(self) -> None:
        await self._child.close()

    async def _wait_until_loaded(self, within_s: float) -> list[dict[str, Any]]:
        ended = asyncio.create_task(self._child.has_ended.wait())
        try:
            waited: set[asyncio.Future[Any]] = {self._loaded, ended}
            await asyncio.wait(waited, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
            if self._loaded.done():
                return self._loaded.result()
            if ended.done():
                raise StartFailed(self.describe_exit(await self.wait_until_ended()))
            raise StartFailed(f"the worker did not load the app within {within_s:g} s")
        except BaseException:
            await self._child.close()
            raise
        finally:
            ended.cancel()

    def _send(self, head: Head, body: bytes = b"") -> None:
        if self._wire is not None:
            self._wire.send(head, body)

    def _greet(self, token: str) -> Wire:
        """Only a connection that begins with the token is the worker's."""

        def on_frame(head: Head, body: bytes) -> None:
            if self._wire is wire:
                self._on_frame(head, body)
            elif self._wire is None and head == {"kind": "hello", "token": token}:
                self._wire = wire
            else:
                wire.close()

        def on_lost() -> None:
            if self._wire is wire:
                self._disconnected.set()

        wire = Wire(on_frame, on_lost)
        return wire

    def _on_frame(self, head: Head, body: bytes) -> None:
        match head["kind"]:
            case "result":
                reply = self._runs.pop(head["id"], None)
                if reply is not None and not reply.done():
                    reply.set_result((head, body))
            case "log":
                _log_for_app(head)
            case "ready":
                self._loaded.set_result(head["functions"])
            case "failed":
                self._loaded.set_exception(StartFailed(head["error"]))


def _log_for_app(head: Head) -> None:
    """A line without a run is shown too, although Azure drops it before Python 3.13 (D5)."""
    category = f"Function.{head['function']}.User" if head["function"] else "Worker.User"
    logging.getLogger(category).log(head["level"], "%s", head["text"])
