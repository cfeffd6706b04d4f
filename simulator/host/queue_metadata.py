"""What a function is told about a queue message beside its body, the override bug included (functions-host A9)."""

import json
import re
from datetime import datetime
from typing import Any

from simulator.host.queue_message import QueueDelivery

Metadata = dict[str, tuple[str, str]]  # name -> (kind of text: `string` or `json`, text)

# What .NET's JSON library takes for a date, and then writes in another form which the Python library cannot read.
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def describe_delivery(delivery: QueueDelivery) -> Metadata:
    """The trigger metadata of a message that came by the queue."""
    metadata = {
        "QueueTrigger": ("string", delivery.text),
        "Id": ("string", delivery.id),
        "DequeueCount": ("json", str(delivery.dequeue_count)),
        "PopReceipt": ("string", delivery.pop_receipt),
        "InsertionTime": _time(delivery.inserted_at),
        "ExpirationTime": _time(delivery.expires_at),
        "NextVisibleTime": _time(delivery.next_visible_at),
    }
    return _override(metadata, delivery.text)


def describe_by_hand(text: str) -> Metadata:
    """The trigger metadata of a run that the admin API was asked for: no id, no receipt, count 0."""
    return _override({"QueueTrigger": ("string", text), "DequeueCount": ("json", "0")}, text)


def _override(metadata: Metadata, text: str) -> Metadata:
    """Let the top-level keys of a body that is a JSON object win, without regard to case."""
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return metadata
    try:
        fields = json.loads(stripped)
    except ValueError:
        return metadata
    spellings = {name.lower(): name for name in metadata}
    for key, value in fields.items():
        if value is not None and not isinstance(value, list):
            metadata[spellings.get(key.lower(), key)] = _as_text(value)
    return metadata


def _as_text(value: Any) -> tuple[str, str]:
    match value:
        case dict():
            return "json", json.dumps(value)
        case bool():
            return "string", str(value)
        case str() if _DATE.fullmatch(value):
            return "string", datetime.fromisoformat(value).strftime("%m/%d/%Y %H:%M:%S")
        case str():
            return "string", value
        case _:
            return "string", json.dumps(value)


def _time(moment: datetime) -> tuple[str, str]:
    return "json", json.dumps(moment.isoformat())
