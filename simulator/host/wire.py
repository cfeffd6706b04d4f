"""How the host and its worker process speak: frames of a JSON head and a raw body over one loopback connection.

Heads by `kind`. To the worker: `invoke` (a run), `stopping` (the host has begun to stop). From the worker: `hello`
(with the token it was given), `ready` (its functions), `failed` (they cannot be loaded), `result`, `log`.
"""

import asyncio
import json
import struct
from collections.abc import Callable
from typing import Any, cast

Head = dict[str, Any]

_LENGTHS = struct.Struct(">II")


class Wire(asyncio.Protocol):
    """One end of the connection. Frames are handed over whole and in order; writes are never waited for."""

    def __init__(self, on_frame: Callable[[Head, bytes], None], on_lost: Callable[[], None]) -> None:
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._received = bytearray()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._on_lost()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= _LENGTHS.size:
            head_length, body_length = _LENGTHS.unpack_from(self._received)
            body_at = _LENGTHS.size + head_length
            end = body_at + body_length
            if len(self._received) < end:
                return
            head = json.loads(self._received[_LENGTHS.size : body_at])
            body = bytes(self._received[body_at:end])
            del self._received[:end]
            self._on_frame(head, body)

    def send(self, head: Head, body: bytes = b"") -> None:
        """Send a frame; nothing happens when the other end has gone."""
        if self._transport is None or self._transport.is_closing():
            return
        packed = json.dumps(head, separators=(",", ":")).encode()
        self._transport.write(b"".join((_LENGTHS.pack(len(packed), len(body)), packed, body)))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
