"""The HTTP server under the host: uvicorn without its hands on the signals, on a socket that was bound before."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator

import uvicorn
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

KEEP_ALIVE_S = 130  # Kestrel's
BACKLOG = 512


class PortTaken(OSError):
    """Another program listens there."""


def bind(address: str, port: int) -> socket.socket:
    """A bound socket; port 0 is any free one. Raises PortTaken with a sentence for the console."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, so that asyncio sets NODELAY
    if os.name == "posix":  # on Windows the option would let two programs share the port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise PortTaken(
            f"Port {port} is unavailable. Close the process using that port, or specify another port using --port [-p]."
        ) from error
    return listening


def allow_origins(app: ASGIApp, origins: str, *, credentials: bool) -> ASGIApp:
    """Let pages of these origins (a comma list, or `*`) call the app; nothing is changed without any (C7)."""
    allowed = [origin for origin in origins.split(",") if origin]
    if not allowed:
        return app
    return CORSMiddleware(
        app, allow_origins=allowed, allow_methods=["*"], allow_headers=["*"], allow_credentials=credentials
    )


class HttpServer:
    """Serves an app until it is stopped."""

    def __init__(self, app: ASGIApp, listening: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
        self._server = _QuietServer(config)
        self._listening = listening
        self._serving: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listening]))

    def stop_accepting(self) -> None:
        """Close the port; what was asked is still answered."""
        self._server.should_exit = True

    async def wait_until_answered(self) -> None:
        """Until every request that was begun has been answered; after `stop_accepting`."""
        if self._serving is not None:
            await self._serving

    async def drop(self) -> None:
        """Cut all connections: their clients get no answer, as when a process ends."""
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        if self._serving is not None:
            self._serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._serving
        self._listening.close()


class _QuietServer(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the host."""
        yield
