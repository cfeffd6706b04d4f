"""Delivers an event: signs the exact bytes, sends them once, and says what went wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlsplit

from opentelemetry.trace import SpanKind

from shared.errors import Undelivered
from shared.signals import SILENT, Signals
from shared.webhooks.sender import Sender
from shared.webhooks.signature import Signer


class Courier:
    """One signer and one sender; without a secret nothing is signed, and so nothing is sent."""

    def __init__(self, signer: Signer | None, sender: Sender, signals: Signals = SILENT) -> None:
        self._signer = signer
        self._sender = sender
        self._signals = signals

    async def deliver(self, url: str, event_id: str, body: bytes) -> int:
        """POST `body` to `url`; the receiver's status. Raises Undelivered."""
        if self._signer is None:
            raise Undelivered("No secret to sign webhooks with: set WEBHOOK_SECRET.", status=None)
        headers = self._signer.headers(event_id, body, sent_at=datetime.now(UTC))
        # The receiver is told the event's id and nothing of our trace, and the trace nothing but its host.
        attributes = {"host": urlsplit(url).hostname or ""}
        with self._signals.span("POST webhook", SpanKind.CLIENT, attributes=attributes) as span:
            delivery = await self._sender.send(url, body, headers)
            if delivery.status is not None:
                span.set_attribute("http_status", delivery.status)
            if delivery.problem is not None or delivery.status is None:
                raise Undelivered(delivery.problem or "The receiver did not answer.", status=delivery.status)
            return delivery.status
