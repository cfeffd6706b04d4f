"""What a request to the queue service is, and what its answer says."""

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

_MESSAGE_VERBS = {"PUT": "update", "DELETE": "delete"}
_MESSAGES_VERBS = {"GET": "get", "POST": "add"}


@dataclass(frozen=True)
class Request:
    """A request in the recording's words; unknown kinds keep their verb."""

    what: str
    queue: str
    message_id: str
    receipt: str
    seconds: int | None
    count: int | None
    text: str | None
    has_body: bool


@dataclass(frozen=True)
class Receipt:
    """A message id with the receipt that an answer gave out for it."""

    message_id: str
    receipt: str
    dequeue_count: int = 0


def read_request(method: str, target: str, body: bytes) -> Request:
    url = urlsplit(target)
    _, _, queue, *rest = url.path.split("/")
    query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
    what = _kind(method, rest, query)
    return Request(
        what=what,
        queue=queue,
        message_id=rest[1] if len(rest) > 1 else "",
        receipt=query.get("popreceipt", ""),
        seconds=int(query["visibilitytimeout"]) if "visibilitytimeout" in query else None,
        count=int(query["numofmessages"]) if "numofmessages" in query else None,
        text=ElementTree.fromstring(body).findtext("MessageText") or "" if what == "add" else None,
        has_body=bool(body),
    )


def read_receipts(body: bytes) -> list[Receipt]:
    """Return what the answer to a GET or a POST of messages gave out, in its order."""
    return [
        Receipt(
            message.findtext("MessageId") or "",
            message.findtext("PopReceipt") or "",
            int(message.findtext("DequeueCount") or 0),
        )
        for message in ElementTree.fromstring(body).iter("QueueMessage")
    ]


def _kind(method: str, rest: list[str], query: dict[str, str]) -> str:
    if not rest:
        return "exists" if query.get("comp") == "metadata" else "create_queue" if method == "PUT" else method
    return (_MESSAGES_VERBS if len(rest) == 1 else _MESSAGE_VERBS).get(method, method)
