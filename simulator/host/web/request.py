"""An HTTP request as the host reads it and as a function will see it (functions-host C6)."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from simulator.host.web.template import decode_path
from simulator.host.wire import Head

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class BodyTooLarge(ValueError):
    """More than FUNCTIONS_REQUEST_BODY_SIZE_LIMIT; the host fails the run, so the client sees 500."""


class Request:
    """One request; nothing of its body is read yet."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.headers = _join((name.decode("latin-1"), _text(value)) for name, value in scope["headers"])
        self._scope = scope
        self._receive = receive
        self._raw_path: str = scope["raw_path"].decode("latin-1")
        self._raw_query: str = scope["query_string"].decode("latin-1")
        self.path = decode_path(self._raw_path)

    @property
    def query(self) -> dict[str, str]:
        """Names without regard to case; repeated values joined with commas, empty ones dropped."""
        pairs = parse_qsl(self._raw_query, keep_blank_values=True)
        spellings: dict[str, str] = {}
        joined = _join((spellings.setdefault(name.lower(), name), value) for name, value in pairs)
        return {name: value for name, value in joined.items() if value}

    @property
    def url(self) -> str:
        host = self.headers.get("host", "localhost")
        query = f"?{self._raw_query}" if self._raw_query else ""
        return f"{self._scope['scheme']}://{host}{self._raw_path}{query}"

    def describe(self, route_values: dict[str, str]) -> Head:
        """The request of an `invoke` frame."""
        return {
            "method": self.method,
            "url": self.url,
            "headers": self.headers,
            "query": self.query,
            "params": route_values,
        }

    async def read_body(self, most_bytes: int) -> bytes:
        """The body if it has a length, nothing if it is chunked. Raises BodyTooLarge."""
        length = int(self.headers.get("content-length") or 0)
        chunks = []
        more = True
        while more:
            message = await self._receive()
            chunks.append(message.get("body", b"") if 0 < length <= most_bytes else b"")
            more = message.get("more_body", False)
        if length > most_bytes:
            raise BodyTooLarge(f"Request body too large. The max request body size is {most_bytes} bytes.")
        return b"".join(chunks)


def _join(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = ",".join(filter(None, (joined.get(name), value)))
    return joined


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
