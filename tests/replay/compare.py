"""Whether a replay took the recorded course: the order of events exactly, the times within their limits."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields

from tests.replay.events import Event
from tests.replay.poll_rules import check_polls
from tests.replay.run_rules import check_runs
from tests.replay.scenario import Scenario
from tests.replay.stage import Performance
from tests.replay.streams import deliveries, message_streams, poll_stream

# The stop falls into a row of tries, so how many polls are seen at the end is chance; so many at least are compared.
CUT_SHORT = {"Kget_503x12": 10}

# Several messages are released at the moment of a poll, so how many of them it finds is chance; the next finds others.
RELEASED_TOGETHER = {"Cmix", "Cnone", "E64"}

KINDS = {"exists", "get", "update", "delete", "add", "create_queue"}


def find_differences(scenario: Scenario, performance: Performance) -> list[str]:
    """Return what is not as recorded, one sentence each; an empty list if all is."""
    return [
        *_compare_exit(scenario, performance),
        *_compare_messages(scenario, performance.events),
        *_compare_polls(scenario, performance.events),
        *_compare_creations(scenario, performance.events),
        *_compare_kinds(performance.events),
        *_compare_warnings(scenario, performance.warnings),
        *_compare_observations(scenario, performance.events),
        *check_polls(scenario, performance.events, performance.slack),
        *check_runs(scenario, performance.events, performance.slack),
    ]


def _compare_exit(scenario: Scenario, performance: Performance) -> list[str]:
    if performance.exit_code == scenario.exit_code:
        return []
    return [f"exit code {performance.exit_code}, recorded {scenario.exit_code}"]


def _compare_messages(scenario: Scenario, events: Sequence[Event]) -> list[str]:
    with_texts = not scenario.is_shortened
    recorded = message_streams(scenario.timeline, with_texts=with_texts)
    replayed = message_streams(events, with_texts=with_texts)
    return [
        f"message {tag}: {' | '.join(replayed.get(tag, []))}; recorded: {' | '.join(recorded.get(tag, []))}"
        for tag in recorded | replayed
        if recorded.get(tag) != replayed.get(tag)
    ]


def _compare_polls(scenario: Scenario, events: Sequence[Event]) -> list[str]:
    differences = []
    for queue in scenario.queues:
        if scenario.name in RELEASED_TOGETHER:
            recorded, replayed = deliveries(scenario.timeline, queue), deliveries(events, queue)
        else:
            recorded, replayed = poll_stream(scenario.timeline, queue), poll_stream(events, queue)
        if scenario.name in CUT_SHORT:
            recorded, replayed = (stream[: CUT_SHORT[scenario.name]] for stream in (recorded, replayed))
        if recorded != replayed:
            differences.append(f"polls of {queue}: {' | '.join(replayed)}; recorded: {' | '.join(recorded)}")
    return differences


def _compare_creations(scenario: Scenario, events: Sequence[Event]) -> list[str]:
    """Each message sent to a missing queue creates it; how many are so at the same time is chance (R22, R39)."""
    refused = Counter(event.queue for event in events if event.what == "add" and event.status == "404")
    created = Counter(event.queue for event in events if event.what == "create_queue")
    recorded = {event.queue for event in scenario.timeline if event.what == "create_queue"}
    if refused == created and set(created) == recorded:
        return []
    return [f"queues created: {dict(created)} for {dict(refused)} refusals; recorded: {recorded}"]


def _compare_kinds(events: Sequence[Event]) -> list[str]:
    others = {event.what for event in events if event.who == "listener"} - KINDS
    return [f"a request the genuine listener never makes: {what}" for what in sorted(others)]


def _compare_warnings(scenario: Scenario, warnings: Sequence[str]) -> list[str]:
    recorded = Counter(event.text or "" for event in scenario.timeline if event.what == "log")
    replayed = Counter(warnings)
    missing, added = recorded - replayed, replayed - recorded
    return [f"not warned of: {text}" for text in missing] + [f"warned of: {text}" for text in added]


def _compare_observations(scenario: Scenario, events: Sequence[Event]) -> list[str]:
    """Each recorded observation must be made again; what the recording leaves out may be anything."""
    replayed = [event for event in events if event.who == "observer"]
    missing = []
    for wanted in (event for event in scenario.timeline if event.who == "observer"):
        match = next((event for event in replayed if _shows(event, wanted)), None)
        if match is None:
            missing.append(f"not observed: {wanted.what} {wanted.queue} {wanted.tag} {wanted.count or ''}")
        else:
            replayed.remove(match)
    return missing + [f"observed: {event.what} {event.tag} {event.count or ''}" for event in replayed]


def _shows(event: Event, wanted: Event) -> bool:
    said = [field.name for field in fields(Event) if field.name != "at_s" and field.name != "answered_at_s"]
    return all(
        getattr(wanted, name) in ("", None, (), False) or getattr(wanted, name) == getattr(event, name) for name in said
    )
