"""What a queue message says: .NET's reading of base64, and what a run is told. Pure."""

import base64
import re
from dataclasses import dataclass
from datetime import datetime

from simulator.host.queue_settings import MessageEncoding

_BASE64_BLOCKS = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)
_WHITE_SPACE = str.maketrans("", "", " \t\r\n")


class Undecodable(ValueError):
    """The text is not what the host's messageEncoding promises."""


@dataclass(frozen=True)
class QueueDelivery:
    """One delivery of a message. The receipt is the one of the fetch; times are in UTC, in whole seconds."""

    id: str
    text: str
    dequeue_count: int
    pop_receipt: str
    inserted_at: datetime
    expires_at: datetime
    next_visible_at: datetime


def decode_body(text: str, encoding: MessageEncoding) -> bytes:
    """Return the bytes a message's text stands for.

    Like .NET, base64 may hold white space anywhere but needs its padding; the URL alphabet is refused and the
    empty text is fine (recorded listener, E64). Raises Undecodable.
    """
    if encoding == "none":
        return text.encode()
    packed = text.translate(_WHITE_SPACE)
    if not _BASE64_BLOCKS.fullmatch(packed):
        raise Undecodable(text)
    return base64.b64decode(packed)


def encode_body(body: bytes, encoding: MessageEncoding) -> str:
    """Return the text that a copy of the message carries: encoded afresh, so white space is gone (R24)."""
    return body.decode() if encoding == "none" else base64.b64encode(body).decode("ascii")
