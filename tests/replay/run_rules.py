"""The rules for what happens to a fetched message, and for a stop (R17, R19, R40, R46-R48, R51)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.replay.events import Event
from tests.replay.limits import Slack, Span, all_tries, retry_wait
from tests.replay.scenario import Scenario
from tests.replay.tags import COPY_SUFFIX, read_body

STARTED = Span(0.0, 0.3)
SETTLED = Span(0.0, 0.05)
RENEWED_LATE_S = 0.5
STOPPED = Span(0.0, 0.1)
ENDS = {"end", "fail"}
REPEATED = {"500", "503", "dropped"}
SETTLING = {"add", "delete", "update"}


def check_runs(scenario: Scenario, events: Sequence[Event], slack: Slack) -> Iterator[str]:
    """Yield one sentence for each step of a message's life that took too long or came too early."""
    for tag in {event.tag for event in events if event.tag}:
        yield from _check_message(scenario, tag, [event for event in events if _concerns(event, tag)], slack)
    yield from _check_most_running(scenario, events)
    yield from _check_stop(events, slack)
    if not scenario.needs_process:
        yield from _check_exit(scenario, events, slack)


def _concerns(event: Event, tag: str) -> bool:
    return event.tag == tag or any(got.tag == tag for got in event.got)


def _check_message(scenario: Scenario, tag: str, events: Sequence[Event], slack: Slack) -> Iterator[str]:
    sleep_s = _sleep_of(scenario, tag)
    for before, event in pairwise(events):
        took_s = event.at_s - before.done_at_s
        span = _allowed(scenario, before, event, sleep_s)
        if span and not span.holds(before.done_at_s, event.at_s, slack):
            yield f"{tag}, {event.at_s:.2f} s: {event.what} {took_s:.2f} s after {before.what}, allowed {span}"
    yield from _check_tries(scenario, tag, events, slack)
    yield from _check_renewals(scenario, tag, events, slack)


def _allowed(scenario: Scenario, before: Event, event: Event, sleep_s: float) -> Span | None:
    """Return how much later `event` may be than the event before it, where a rule says so."""
    has_undecodable = any(got.tag in scenario.undecodable for got in before.got)
    if before.what == "get" and event.what == "start" and not has_undecodable:
        return STARTED
    if before.what == "start" and event.what in ENDS:
        return Span(sleep_s, sleep_s)
    if before.what in {*ENDS, "cancelled"} and event.what in SETTLING:
        return SETTLED
    if before.what == "add" and event.what == "delete" and before.queue.endswith("-poison"):
        return SETTLED
    return None


def _check_tries(scenario: Scenario, tag: str, events: Sequence[Event], slack: Slack) -> Iterator[str]:
    tries = [event for event in events if event.what in SETTLING]
    failed = 0
    for before, event in pairwise(tries):
        failed = failed + 1 if before.status in REPEATED and before.what == event.what else 0
        if failed:
            took_s, span = event.at_s - before.done_at_s, retry_wait(scenario.times, failed)
            if not span.holds(before.done_at_s, event.at_s, slack):
                yield f"{tag}: {event.what} tried again after {took_s:.2f} s, allowed {span} (R51)"


def _check_renewals(scenario: Scenario, tag: str, events: Sequence[Event], slack: Slack) -> Iterator[str]:
    """Each renewal is due so long after the GET, or after the renewal before, that gave its receipt."""
    given_at_s: dict[str, float] = {}
    span = Span(scenario.times.renewal_s, scenario.times.renewal_s + RENEWED_LATE_S)
    for event in events:
        given_at_s |= {got.receipt: event.done_at_s for got in event.got if got.tag == tag}
        if event.what != "update" or event.seconds != scenario.times.hidden_s:
            continue
        from_s = given_at_s.pop(event.receipt, event.at_s - span.low_s)
        if not span.holds(from_s, event.at_s, slack):
            yield f"{tag}: renewed after {event.at_s - from_s:.2f} s, allowed {span} (R40)"
        if event.new_receipt:
            given_at_s[event.new_receipt] = event.done_at_s


def _check_most_running(scenario: Scenario, events: Sequence[Event]) -> Iterator[str]:
    settings = scenario.settings
    allowed = (settings.batch_size + settings.new_batch_threshold) * len(scenario.queues)
    replayed, recorded = _most_running(events), _most_running(scenario.timeline)
    if replayed > allowed:
        yield f"{replayed} ran at once, allowed {allowed} (R9)"
    # With equal lengths all end together, and how many are seen at once is chance (R10); these are staggered.
    if scenario.name.endswith("st") and replayed != recorded:
        yield f"{replayed} ran at once, recorded {recorded} (R9)"


def _most_running(events: Sequence[Event]) -> int:
    running = most = 0
    for event in events:
        if event.who == "function":
            running += (event.what == "start") - (event.what in {*ENDS, "cancelled"})
            most = max(most, running)
    return most


def _check_stop(events: Sequence[Event], slack: Slack) -> Iterator[str]:
    stops = [event.at_s for event in events if event.what == "host-stopping"]
    if not stops:
        return
    for event in events:
        if event.what in {"exists", "get"} and event.at_s > stops[-1] + STOPPED.high_s:
            yield f"{event.what} {event.at_s - stops[-1]:.2f} s after the stop (R46)"
        if event.what in {"token-cancelled", "cancelled"} and not STOPPED.holds(stops[-1], event.at_s, slack):
            yield f"{event.tag}: {event.what} {event.at_s - stops[-1]:.2f} s after the stop (R46)"


def _check_exit(scenario: Scenario, events: Sequence[Event], slack: Slack) -> Iterator[str]:
    """The host ends with its last run, with the stop, or at once on the error that ends it (R46, R47, R50)."""
    exit_s = next((event.at_s for event in events if event.what == "process exited"), None)
    if exit_s is None:
        return
    ours = (event for event in events if event.who in {"listener", "function"} or event.what == "host-stopping")
    last_s = max((event.done_at_s for event in ours if event.done_at_s <= exit_s), default=0.0)
    span = all_tries(scenario.times) if scenario.refuses_connections else STOPPED
    if not span.holds(last_s, exit_s, slack):
        yield f"ended {exit_s - last_s:.2f} s after the last event, allowed {span}"


def _sleep_of(scenario: Scenario, tag: str) -> float:
    wanted = tag.removesuffix(COPY_SUFFIX)
    bodies = [entry.fields["body"] for entry in scenario.inputs if "body" in entry.fields]
    bodies += [body["emit"] for body in bodies if "emit" in body]
    bodies += [read_body(entry.fields["text"].partition(" ")[2]) for entry in scenario.inputs if entry.op == "command"]
    return next((float(body.get("sleep", 0)) for body in bodies if body.get("tag") == wanted), 0.0)
