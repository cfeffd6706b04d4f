"""The queue output binding: what a function leaves becomes messages, as the host reads it (functions-host A8)."""

import json
from collections.abc import Iterator

from simulator.host.host_stop import HostStop
from simulator.host.queue_message import encode_body
from simulator.host.queue_settings import MessageEncoding
from simulator.host.queue_storage import QueueStorage


class OutputFailed(Exception):
    """An output was not written, so the run has failed: it looked like JSON and was not, or storage refused it."""


class QueueWriter:
    """One output of a function."""

    def __init__(self, queue: QueueStorage, encoding: MessageEncoding) -> None:
        self._queue = queue
        self._encoding = encoding

    async def write(self, text: str) -> None:
        """Put the messages on the queue, creating it if it is missing. Raises OutputFailed."""
        try:
            for message in split_messages(text):
                await self._queue.add(encode_body(message.encode(), self._encoding))
        except HostStop as error:
            raise OutputFailed(str(error)) from error


def split_messages(text: str) -> Iterator[str]:
    """One message an element of a JSON array, one of an object written out again, or the text itself.

    Raises OutputFailed for a text in the brackets of JSON that is none.
    """
    stripped = text.strip()
    if (stripped[:1], stripped[-1:]) not in (("{", "}"), ("[", "]")):
        yield text
        return
    try:
        value = json.loads(stripped)
    except ValueError as error:
        raise OutputFailed(f"the output looks like JSON and is not: {error}") from error
    for element in value if isinstance(value, list) else [value]:
        yield element if isinstance(element, str) else json.dumps(element, ensure_ascii=False, indent=2)
