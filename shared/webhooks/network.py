"""The way out for webhooks: looks a name up, checks all its addresses, and connects to exactly one of those."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from ipaddress import ip_address

import httpcore

from shared.webhooks.addresses import Address, is_public

Lookup = Callable[[str, int], Awaitable[Sequence[Address]]]

_MOST_TRIED = 3  # addresses of one name
_ONE_OF_MANY_S = 2.5  # for a connection while there are other addresses to try

# Of its own: names whose servers do not answer hold a thread for half a minute, and must not hold up others' look-ups.
_THREADS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="webhook-lookup")


class NotPublic(Exception):
    """The name leads to an address that webhooks may not call."""


async def system_lookup(host: str, port: int) -> list[Address]:
    """The addresses (at least one) of a name, or of an address itself. Raises socket.gaierror."""
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(
        _THREADS, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    )
    return [ip_address(where[0]) for _family, _type, _proto, _name, where in found]


class PublicNetwork(httpcore.AsyncNetworkBackend):
    """Makes the connections of one attempt: to public addresses only, or to any with `allow_private`.

    There is one look-up per connection: a name that changes its mind between a check and a second look-up ("DNS
    rebinding") gains nothing. TLS goes on to speak to the name, and to check its certificate.
    """

    def __init__(self, lookup: Lookup, sockets: httpcore.AsyncNetworkBackend, *, allow_private: bool) -> None:
        self._lookup = lookup
        self._sockets = sockets
        self._allow_private = allow_private
        self._opened: list[httpcore.AsyncNetworkStream] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first address that answers. Raises NotPublic, socket.gaierror, httpcore's errors."""
        addresses = await self._lookup(host, port)
        if not self._allow_private and not all(map(is_public, addresses)):
            raise NotPublic(host)
        connect = partial(
            self._sockets.connect_tcp, port=port, local_address=local_address, socket_options=socket_options
        )
        *others, last = map(str, addresses[:_MOST_TRIED])
        for address in others:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return self._noted(await connect(address, timeout=_ONE_OF_MANY_S))
        return self._noted(await connect(last, timeout=timeout))

    async def aclose(self) -> None:
        """Close every connection: httpcore leaves one open that is given up during its TLS handshake."""
        for stream in self._opened:
            await stream.aclose()

    def _noted(self, stream: httpcore.AsyncNetworkStream) -> httpcore.AsyncNetworkStream:
        self._opened.append(stream)
        return stream
