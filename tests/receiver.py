"""A receiver of webhooks that says exactly what a test wants it to say, and a network on which it has any address."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from types import TracebackType
from typing import Self

import httpcore

from shared.webhooks.addresses import Address
from simulator.stack.ports import LOOPBACK

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def saying(text: str | bytes) -> Answer:
    """An answer with exactly these bytes, after which the connection is closed."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(text.encode() if isinstance(text, str) else text)

    return answer


def status(line: str, *headers: str) -> Answer:
    """An answer without a body, such as status("204 No Content")."""
    return saying("\r\n".join([f"HTTP/1.1 {line}", "Content-Length: 0", *headers, "", ""]))


def drip(beginning: str, drop: str, *, every_s: float = 0.0) -> Answer:
    """An answer that never ends: `drop` is repeated until the sender hangs up."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(beginning.encode())
        while not writer.is_closing():
            writer.write(drop.encode())
            await writer.drain()
            await asyncio.sleep(every_s)

    return answer


async def mute(writer: asyncio.StreamWriter) -> None:
    """No answer at all; the connection stays open until the sender hangs up."""
    await writer.wait_closed()


@dataclass(frozen=True)
class Call:
    """One request; header names in lower case."""

    line: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """An HTTP server; `async with Receiver(status("200 OK")) as receiver`, then `receiver.calls`."""

    def __init__(self, answer: Answer, *, tls: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.calls: list[Call] = []
        self.port = 0
        self.hung_up = asyncio.Event()  # a sender has closed its connection
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, LOOPBACK, 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
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
        task = asyncio.create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        watch = None
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            line, *lines = head.rstrip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (text.partition(": ") for text in lines)}
            self.calls.append(Call(line, headers, await reader.readexactly(int(headers["content-length"]))))
            watch = asyncio.create_task(self._watch(reader, writer))
            await self.answer(writer)
        except (asyncio.IncompleteReadError, OSError):
            self.hung_up.set()
        finally:
            writer.close()
            if watch:
                await asyncio.gather(watch, return_exceptions=True)

    async def _watch(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Notice the end of the connection, also while an answer is being written."""
        try:
            await reader.read()
        finally:
            self.hung_up.set()
            writer.close()


class Net(httpcore.AsyncNetworkBackend):
    """The internet of a test: every address leads to `port` here, but those in `dead` refuse the connection."""

    def __init__(self, port: int, *, dead: Iterable[str] = ()) -> None:
        self.connected: list[tuple[str, int]] = []
        self._port = port
        self._dead = frozenset(dead)
        self._sockets = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.connected.append((host, port))
        if host in self._dead:
            raise httpcore.ConnectError
        return await self._sockets.connect_tcp(LOOPBACK, self._port, timeout)


class Names:
    """A name server that gives one answer after the other, and then the last one again."""

    def __init__(self, *answers: list[str]) -> None:
        self.asked: list[str] = []
        self._answers = [[ip_address(text) for text in answer] for answer in answers]

    async def lookup(self, host: str, _port: int) -> list[Address]:
        answer = self._answers[min(len(self.asked), len(self._answers) - 1)]
        self.asked.append(host)
        return answer
