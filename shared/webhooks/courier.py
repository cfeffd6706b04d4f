"""Delivers an event: signs the exact bytes, sends them once, and says what went wrong."""

from __future__ import annotations

from datetime import UTC, datetime

from shared.errors import Undelivered
from shared.webhooks.sender import Sender
from shared.webhooks.signature import Signer


class Courier:
    """One signer and one sender; without a secret nothing is signed, and so nothing is sent."""

    def __init__(self, signer: Signer | None, sender: Sender) -> None:
        self._signer = signer
        self._sender = sender

    async def deliver(self, url: str, event_id: str, body: bytes) -> int:
        """POST `body` to `url`; the receiver's status. Raises Undelivered."""
        if self._signer is None:
            raise Undelivered("No secret to sign webhooks with: set WEBHOOK_SECRET.", status=None)
        headers = self._signer.headers(event_id, body, sent_at=datetime.now(UTC))
        delivery = await self._sender.send(url, body, headers)
        if delivery.problem is not None or delivery.status is None:
            raise Undelivered(delivery.problem or "The receiver did not answer.", status=delivery.status)
        return delivery.status
