"""Sends a webhook, once: no retry, no redirect, no proxy, and a sentence for whatever went wrong."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import httpcore
import httpx

from shared.webhooks.addresses import Target, UnusableUrl, check_url
from shared.webhooks.network import Lookup, NotPublic, PublicNetwork, system_lookup

_LARGEST_ANSWER = 64 * 1024  # bytes
_PHRASES = {status.value: f" {status.phrase}" for status in HTTPStatus}


@dataclass(frozen=True)
class Delivery:
    """What became of one attempt: the receiver's status, and a sentence that says why it is no delivery.

    Without `problem` it was delivered (2xx); without `status` there was no answer. Everything but 2xx may be tried
    again; 410 means that the receiver wants no more webhooks (Standard Webhooks, "Delivery success and failure").
    """

    status: int | None
    problem: str | None = None

    @property
    def is_delivered(self) -> bool:
        return self.problem is None


class Sender:
    """Makes single attempts, each on a connection of its own; `timeout_s` is the total time of one.

    `lookup`, `sockets` and `tls` are the outside world, which tests replace.
    """

    def __init__(
        self,
        *,
        allow_private: bool,
        timeout_s: float = 10.0,
        lookup: Lookup = system_lookup,
        sockets: httpcore.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._timeout_s = timeout_s
        self._lookup = lookup
        self._sockets = sockets or httpcore.AnyIOBackend()
        self._tls = tls or httpx.create_ssl_context()  # trusts whom the rest of the app trusts

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Delivery:
        """POST the JSON `body` as it is, with `headers` (ASCII) beside our own; cancellation goes through.

        The status decides: what the receiver writes after it is read, up to 64 KiB, and ignored.
        """
        try:
            target = check_url(url, allow_private=self._allow_private)
        except UnusableUrl as exc:  # accepted under other settings
            return Delivery(None, f"The webhook's URL cannot be called: it {exc}.")
        status = None
        try:
            async with asyncio.timeout(self._timeout_s), self._answer(target, body, headers) as answer:
                status = answer.status
                await _hear_out(answer)
        except (NotPublic, OSError, httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as exc:
            if status is None:
                return Delivery(None, self._in_words(exc, target))
        return _judged(status, target)

    @asynccontextmanager
    async def _answer(
        self, target: Target, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[httpcore.Response]:
        """The answer as soon as its status is known."""
        url = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        all_headers = [
            ("Host", target.authority),
            ("Content-Type", "application/json"),
            ("User-Agent", "ticket-intake-webhooks"),
            ("Connection", "close"),
            *headers.items(),
        ]
        async with (
            aclosing(PublicNetwork(self._lookup, self._sockets, allow_private=self._allow_private)) as network,
            httpcore.AsyncHTTPConnection(url.origin, self._tls, network_backend=network) as connection,
            connection.stream("POST", url, headers=all_headers, content=body) as response,
        ):
            yield response

    def _in_words(self, exc: Exception, target: Target) -> str:
        where = target.authority
        match exc:
            case TimeoutError() | httpcore.TimeoutException():
                return f"{where} did not answer within {self._timeout_s:g} s."
            case NotPublic():
                return f"{where} leads to an address that is private, local or reserved."
            case socket.gaierror(strerror=why):
                return f"{where} has no address: {why}."
            case httpcore.ConnectError(__cause__=ssl.SSLCertVerificationError(verify_message=why)):
                return f"{where} has no valid certificate: {why}."
            case httpcore.ConnectError(__cause__=ssl.SSLError(reason=why)):
                return f"{where} and we found no way to speak TLS: {why}."
            case httpcore.ConnectError():
                return f"{where} accepts no connection."
            case _:
                return f"{where} broke the connection off, or answered in no HTTP."


async def _hear_out(answer: httpcore.Response) -> None:
    """Read the body, so that a receiver sees its answer taken, until it becomes a burden."""
    size = 0
    async for chunk in answer.aiter_stream():
        size += len(chunk)
        if size >= _LARGEST_ANSWER:
            return


def _judged(status: int, target: Target) -> Delivery:
    if 200 <= status <= 299:
        return Delivery(status)
    problem = f"{target.authority} answered {status}{_PHRASES.get(status, '')}"
    if 300 <= status <= 399:
        problem += ": redirects are not followed, the job must name the final URL"
    elif status == HTTPStatus.GONE:
        problem += ": it wants no more webhooks"
    return Delivery(status, f"{problem}.")
