"""The headers by which a receiver knows a webhook of ours: Standard Webhooks 1.0.0, symmetric signatures."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime

from standardwebhooks import Webhook

from shared.settings import SettingsError

_PREFIX = "whsec_"
_SHORTEST_KEY, _LONGEST_KEY = 24, 64  # bytes, as in the specification's "Signature scheme"


class Signer:
    """Signs with the secret, and with the previous one beside it while the receivers change over."""

    def __init__(self, secret: str, previous: str = "") -> None:
        """The settings WEBHOOK_SECRET and WEBHOOK_SECRET_PREVIOUS ("" = none), both `whsec_` and base64.

        Raises SettingsError, which names the malformed setting and shows nothing of it.
        """
        self._signers = [Webhook(_key(secret, setting="WEBHOOK_SECRET"))]
        if previous:
            self._signers.append(Webhook(_key(previous, setting="WEBHOOK_SECRET_PREVIOUS")))

    def headers(self, event_id: str, body: bytes, *, sent_at: datetime) -> dict[str, str]:
        """The headers for exactly this body (UTF-8), in an attempt made at `sent_at` (aware).

        `event_id` stays the same in every attempt and holds no full stop, which delimits what is signed.
        """
        at = sent_at.astimezone(UTC)  # the library reads every time as UTC
        return {
            "webhook-id": event_id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": " ".join(signer.sign(event_id, at, body.decode()) for signer in self._signers),
        }


def _key(secret: str, *, setting: str) -> bytes:
    """The secret's bytes. Stricter than receivers, whose libraries may skip stray characters each in its own way."""
    text = secret.removeprefix(_PREFIX)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if text == secret or not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY:
        raise SettingsError(
            f"{setting}: must be {_PREFIX} and then the base64 of {_SHORTEST_KEY} to {_LONGEST_KEY} random bytes"
        )
    return key
