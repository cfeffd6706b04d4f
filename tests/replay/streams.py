"""A course of events as lines that can be compared: what befell each message, and how each queue was polled.

What happens to different messages has no order of its own, so each message has a line of its own.
"""

from collections.abc import Sequence
from itertools import groupby

from tests.replay.events import Event

POLLS = {"exists", "get"}
MISSING = "exists 404"


def message_streams(events: Sequence[Event], *, with_texts: bool) -> dict[str, list[str]]:
    """Return what befell each message, by tag. `with_texts` tells what exactly was put into a poison queue.

    Whether a copy finds its poison queue missing is left out: among several at a time it is chance (R22).
    """
    streams: dict[str, list[str]] = {}
    for event in events:
        for got in event.got:
            streams.setdefault(got.tag, []).append(f"get {got.dequeue_count} {got.receipt}")
        if event.tag and event.who in {"listener", "function"} and not _is_refused_add(event):
            streams.setdefault(event.tag, []).append(_word(event, with_texts=with_texts))
    return streams


def poll_stream(events: Sequence[Event], queue: str) -> list[str]:
    """Return what the polls of a queue found, in order.

    GETs that found nothing are left out, since the time rules have an eye on them: how many there are is chance,
    and so is whether the one right after a batch finds what that batch has just released.
    """
    polls = [event for event in events if event.what in POLLS and event.queue == queue]
    words = [_poll_word(event) for event in polls if event.what == "exists" or event.got or event.status]
    runs = ((word, list(run)) for word, run in groupby(words))
    return [each for word, run in runs for each in ([word] if word == MISSING else run)]


def deliveries(events: Sequence[Event], queue: str) -> list[str]:
    """Return which deliveries of which messages the polls of a queue found, no matter in how many polls."""
    polls = (event for event in events if event.what == "get" and event.queue == queue)
    return sorted(f"{got.tag}#{got.dequeue_count}" for event in polls for got in event.got)


def _word(event: Event, *, with_texts: bool) -> str:
    parts = [event.what, event.status]
    if event.what == "start":
        parts.append(str(event.count))
    elif event.what == "add":
        parts += [event.queue, event.text or "" if with_texts else ""]
    elif event.what in {"update", "delete"}:
        parts += [event.receipt, event.new_receipt, "" if event.seconds is None else f"{event.seconds} s"]
        parts.append("with a body" if event.has_body and event.what == "update" else "")
    return " ".join(part for part in parts if part)


def _poll_word(event: Event) -> str:
    if event.status or event.what == "exists":
        return f"{event.what} {event.status or 'yes'}"
    return "get " + ", ".join(sorted(f"{got.tag}#{got.dequeue_count}" for got in event.got))


def _is_refused_add(event: Event) -> bool:
    return event.what == "add" and event.status == "404"
