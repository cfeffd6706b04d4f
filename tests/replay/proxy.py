"""A proxy before the queue service that writes every request down and injects a scenario's fault."""

import asyncio
import time
from types import TracebackType
from typing import Self

from aiohttp import ClientSession, TCPConnector, web
from yarl import URL

from tests.replay.faults import Fault, FaultInjector, error_code
from tests.replay.journal import Journal
from tests.replay.pulse import Pulse
from tests.replay.wire import Receipt, Request, read_receipts, read_request

LOOPBACK = "127.0.0.1"
SIGNED = ("Content-Type",)  # part of the signature, so none may be made up on the way
NOT_FORWARDED = {"transfer-encoding", "connection", "content-length"}


class Proxy:
    """`async with Proxy(...) as proxy`: listens on `proxy.port` and forwards to `storage`.

    `prefix` is what this replay put before its queues' names so that replays can share a service; the journal
    knows them without it.
    """

    def __init__(self, storage: str, prefix: str, journal: Journal, faults: FaultInjector, pulse: Pulse) -> None:
        self.port = 0
        self._storage = storage
        self._prefix = prefix
        self._journal = journal
        self._faults = faults
        self._pulse = pulse
        self._is_closed = False
        self._dropped: set[str] = set()
        self._server = web.Server(self._answer)

    async def __aenter__(self) -> Self:
        # Azurite drops connections that were idle for 5 s; reusing one at that moment would look like a fault.
        self._session = ClientSession(connector=TCPConnector(limit=0, keepalive_timeout=2), auto_decompress=False)
        self._listener = await asyncio.get_running_loop().create_server(self._server, LOOPBACK, 0)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        await self._server.shutdown(timeout=10)
        await self._session.close()

    def close_port(self) -> None:
        """Refuse new connections and drop those in use."""
        self._is_closed = True
        self._listener.close()

    async def _answer(self, incoming: web.BaseRequest) -> web.StreamResponse:
        at_s = self._journal.now_s()
        body = await incoming.read()
        request = read_request(incoming.method, incoming.raw_path, body)
        queue = request.queue.removeprefix(self._prefix)
        fault = self._faults.strike(request.what, queue, at_s)
        if self._is_closed or (fault and fault.drops):
            return self._drop(incoming, request, queue, at_s)
        if fault and fault.status:
            self._journal.write_request(request, queue, at_s, str(fault.status), [])
            return _refuse(fault.status, error_code(fault.status, request.what))
        return await self._forward(incoming, body, request, at_s, fault)

    def _drop(self, incoming: web.BaseRequest, request: Request, queue: str, at_s: float) -> web.StreamResponse:
        # An HTTP client may repeat by itself a request that a used connection has lost: that is no new try.
        request_id = incoming.headers.get("x-ms-client-request-id", "")
        if request_id not in self._dropped:
            self._journal.write_request(request, queue, at_s, "dropped", [])
            self._dropped.add(request_id)
        if incoming.transport:
            incoming.transport.abort()
        return web.Response()

    async def _forward(
        self, incoming: web.BaseRequest, body: bytes, request: Request, at_s: float, fault: Fault | None
    ) -> web.Response:
        headers = {name: value for name, value in incoming.headers.items() if name.lower() not in NOT_FORWARDED}
        target = URL(self._storage + incoming.raw_path, encoded=True)
        asked_at = time.time()
        async with self._session.request(
            incoming.method, target, headers=headers, data=body or None, skip_auto_headers=SIGNED
        ) as answer:
            content = await answer.read()
        self._pulse.heed_answer(asked_at)
        late_s = fault.late_s if fault else 0.0
        queue = request.queue.removeprefix(self._prefix)
        status = "" if answer.ok else str(answer.status)
        given = _read_given(request, content, answer.headers.get("x-ms-popreceipt")) if answer.ok else []
        self._journal.write_request(request, queue, at_s, status, given, late_s)
        await asyncio.sleep(late_s)  # written down before, since the listener may be gone by then
        kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in NOT_FORWARDED]
        return web.Response(status=answer.status, headers=dict(kept), body=content)


def _read_given(request: Request, content: bytes, new_receipt: str | None) -> list[Receipt]:
    if request.what in {"get", "add"}:
        return read_receipts(content)
    return [Receipt(request.message_id, new_receipt)] if request.what == "update" and new_receipt else []


def _refuse(status: int, code: str) -> web.Response:
    return web.Response(
        status=status,
        headers={"x-ms-error-code": code, "Content-Type": "application/xml"},
        text=f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>injected</Message></Error>',
    )
