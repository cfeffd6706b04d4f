"""A caller's system that is told of events, and does not always take them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http.client import parse_headers
from io import BytesIO
from random import Random
from types import TracebackType
from typing import Self

from simulator.stack.ports import LOOPBACK
from tests.chaos.ledger import Hearing, Ledger

REFUSED = 0.15
ANSWERS = {200: "OK", 503: "Service Unavailable"}


class Receiver:
    """`async with Receiver(ledger, rng) as receiver: receiver.url`; every event goes into the ledger."""

    def __init__(self, ledger: Ledger, rng: Random) -> None:
        self._ledger = ledger
        self._rng = rng
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, LOOPBACK, 0)
        self.url = f"http://{LOOPBACK}:{self._server.sockets[0].getsockname()[1]}/events"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: writer.close())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._answer(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        headers = parse_headers(BytesIO(await reader.readuntil(b"\r\n\r\n")))
        await reader.readexactly(int(headers["content-length"]))
        status = 503 if self._rng.random() < REFUSED else 200
        self._ledger.hearings.append(Hearing(headers["webhook-id"], status))
        writer.write(f"HTTP/1.1 {status} {ANSWERS[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
        await writer.drain()
