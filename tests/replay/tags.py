"""The names that a scenario gives to its messages, and how to know a message again by its text."""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

UNKNOWN = "?"
COPY_SUFFIX = "/poison"


@dataclass
class Tags:
    """Messages are put with a JSON body that holds their tag, or as raw text beside a tag."""

    encoding: str
    by_text: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, inputs: Iterable[Mapping[str, Any]], encoding: str) -> "Tags":
        texts = {entry["text"]: entry["tag"] for entry in inputs if entry["op"] == "put_text"}
        return cls(encoding, texts)

    def of_text(self, text: str) -> str:
        """Name the message that has this text in its queue, be it the original or its copy."""
        put = {_pack(raw): tag for raw, tag in self.by_text.items()}
        return put.get(_pack(text)) or _tag_in(text) or _tag_in(_decode(text)) or UNKNOWN

    def of_run(self, entry: Mapping[str, Any]) -> str:
        """Name the message of a recorded function event, which shows the tag inside the body; empty without one."""
        aliases = {_tag_in(text): tag for text, tag in self.by_text.items() if self.encoding == "none"}
        tag = aliases.get(entry["tag"], entry["tag"]) if entry["tag"] else ""
        return tag + COPY_SUFFIX if entry.get("fn") == "poison" else tag

    def of_copy(self, text: str) -> str:
        """Name a copy in a poison queue, as the recording does: by the tag inside its body alone."""
        return (_tag_in(text) or _tag_in(_decode(text)) or UNKNOWN) + COPY_SUFFIX


def read_body(text: str) -> dict[str, Any]:
    """Return the orders in a message's decoded text; none if it is not a JSON object."""
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def write_body(body: Mapping[str, Any], encoding: str) -> str:
    """Return the text of a message with these orders."""
    text = json.dumps(body)
    return base64.b64encode(text.encode()).decode() if encoding == "base64" else text


def _pack(text: str) -> str:
    return "".join(text.split())


def _tag_in(text: str) -> str:
    return str(read_body(text).get("tag", ""))


def _decode(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        return ""
