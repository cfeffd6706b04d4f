"""A wire between the app and a server that a test can cut, freeze and mend, and that can lose an answer."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import Self

from simulator.stack.ports import LOOPBACK


class Ends:
    """The two ends of one connection."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server
        self.loses_answer = False

    def abort(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()


class Wire:
    """Passes bytes between clients on `port` and a server on `to_port`; `async with Wire(5432) as wire`.

    With `tls` its clients speak that, and the server hears it in clear.
    """

    def __init__(self, to_port: int, *, tls: ssl.SSLContext | None = None) -> None:
        self.port = 0
        self._to_port = to_port
        self._tls = tls
        self._may_flow = asyncio.Event()
        self._may_flow.set()
        self._is_up = True
        self._connections: set[Ends] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._marker: bytes | None = None
        self.lost = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connect, LOOPBACK, 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def cut(self) -> None:
        """Every connection breaks, and new ones break at once."""
        self._is_up = False
        for ends in list(self._connections):
            ends.abort()

    def mend(self) -> None:
        """New connections get through again, and frozen ones go on."""
        self._is_up = True
        self._may_flow.set()

    def freeze(self) -> None:
        """Nothing gets through any more, and nobody is told."""
        self._may_flow.clear()

    def lose_answer_to(self, marker: bytes) -> None:
        """The next question with `marker` in it reaches the server, but its connection breaks before the answer."""
        self._marker = marker

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._carry(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: writer.transport.abort())  # also of one that was cancelled before it began

    async def _carry(self, client: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._may_flow.wait()
        server, server_writer = await asyncio.open_connection(LOOPBACK, self._to_port)
        ends = Ends(writer, server_writer)
        self._connections.add(ends)
        try:
            if self._is_up:
                await asyncio.gather(self._ask(client, ends), self._answer(server, ends))
        finally:
            self._connections.discard(ends)
            ends.abort()

    async def _ask(self, client: asyncio.StreamReader, ends: Ends) -> None:
        while piece := await self._read(client):
            if self._marker is not None and self._marker in piece:
                self._marker, ends.loses_answer = None, True
            ends.server.write(piece)
        ends.server.close()

    async def _answer(self, server: asyncio.StreamReader, ends: Ends) -> None:
        while piece := await self._read(server):
            if ends.loses_answer:
                self.lost += 1
                ends.abort()
                break
            ends.client.write(piece)
        ends.client.close()

    async def _read(self, source: asyncio.StreamReader) -> bytes:
        try:
            piece = await source.read(65_536)
        except OSError:
            return b""
        await self._may_flow.wait()
        return piece
