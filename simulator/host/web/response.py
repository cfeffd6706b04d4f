"""What the host sends back: plain answers of its own, and what a function returned (functions-host C3)."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.host.runs import Outcome
from simulator.host.web.request import Message
from simulator.host.web.text_reply import read_text_reply

Send = Callable[[Message], Awaitable[None]]

BODILESS = frozenset({204, 205, 304})
HOSTS_OWN = frozenset({"content-length", "transfer-encoding"})  # the host frames the response itself
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\x20-\x7e\t]*")


class UnsendableResponse(ValueError):
    """A header or a body that the genuine server refuses to write: the client gets 500."""


@dataclass(frozen=True)
class Response:
    """A whole response; header names may repeat."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    @classmethod
    def of_outcome(cls, outcome: Outcome) -> "Response":
        """The answer to a run's client: 500 without a body for a failed run. Raises UnsendableResponse."""
        if not outcome.succeeded:
            return cls(500)
        if "text" in outcome.head:
            status, headers, body = read_text_reply(outcome.head["text"])
            cookies = []
        else:
            described: Mapping[str, Any] = outcome.head["response"]
            status, headers, cookies = described["status"], described["headers"], described["cookies"]
            body = outcome.body
        pairs = [(name, value) for name, value in headers.items() if name.lower() not in HOSTS_OWN]
        response = cls(status, pairs + [("set-cookie", cookie) for cookie in cookies], body)
        response._check()
        return response

    def with_headers(self, custom: Mapping[str, str]) -> "Response":
        """The same with host.json's customHeaders, unless it has them already."""
        present = {name.lower() for name, _ in self.headers}
        added = [(name, value) for name, value in custom.items() if name.lower() not in present]
        return Response(self.status, self.headers + added, self.body)

    async def send(self, send: Send) -> None:
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in self.headers]
        if self.status not in BODILESS:
            headers.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})

    def _check(self) -> None:
        for name, value in self.headers:
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise UnsendableResponse(f"Invalid non-ASCII or control character in header: {name!r}")
        if self.body and self.status in BODILESS:
            raise UnsendableResponse(f"A response with status code {self.status} cannot have a body")
