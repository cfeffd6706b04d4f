"""How long each fetched message kept its place: from the answer of its GET to the answer of its last request (R15)."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.replay.events import Event
from tests.replay.scenario import Scenario

FOREVER = float("inf")


@dataclass
class Stay:
    """One delivery of one message."""

    queue: str
    tag: str
    dequeue_count: int
    receipt: str
    fetched_at_s: float
    until_s: float = FOREVER


def list_stays(scenario: Scenario, events: Sequence[Event]) -> list[Stay]:
    """Return all deliveries that took a place, in order of their fetches.

    Messages that cannot be decoded are dealt with inside the fetch and never have one (R30).
    """
    stays: list[Stay] = []
    for event in events:
        for got in event.got:
            if got.tag not in scenario.undecodable:
                stays.append(Stay(event.queue, got.tag, got.dequeue_count, got.receipt, event.done_at_s))
        for stay in stays:
            if event.tag == stay.tag:
                _follow(stay, event, scenario)
    return stays


def count_places(stays: Sequence[Stay], queue: str, at_s: float) -> int:
    """Return how many places of a queue's listener were taken just then."""
    return sum(stay.queue == queue and stay.fetched_at_s < at_s < stay.until_s for stay in stays)


def free_from(stays: Sequence[Stay], queue: str, threshold: int, at_s: float) -> float:
    """Return when at most `threshold` of the places taken at `at_s` were still taken for the first time."""
    ends = sorted(stay.until_s for stay in stays if stay.queue == queue and stay.fetched_at_s <= at_s < stay.until_s)
    return at_s if len(ends) <= threshold else ends[len(ends) - threshold - 1]


def _follow(stay: Stay, event: Event, scenario: Scenario) -> None:
    if event.who == "function" and event.what in {"fail", "cancelled"}:
        if stay.queue.endswith("-poison") and stay.until_s == FOREVER:
            stay.until_s = event.at_s
    elif event.receipt == stay.receipt and event.what == "update" and event.seconds == scenario.times.hidden_s:
        stay.receipt = event.new_receipt or stay.receipt
    elif event.receipt == stay.receipt and event.what in {"update", "delete"}:
        stay.until_s = event.done_at_s
