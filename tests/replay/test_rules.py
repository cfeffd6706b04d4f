"""The rules by which replays are judged: the recording keeps them, and a course that breaks one is found out."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tests.replay.compare import find_differences
from tests.replay.events import Event
from tests.replay.limits import RECORDED_SLACK_S
from tests.replay.recording import load_scenarios
from tests.replay.scenario import Scenario
from tests.replay.stage import Performance

Change = Callable[[Event], Event | None]


def differences(scenario: Scenario, events: Sequence[Event], exit_code: int | None = None) -> list[str]:
    warnings = [event.text or "" for event in events if event.what == "log"]
    code = scenario.exit_code if exit_code is None else exit_code
    return find_differences(scenario, Performance(events, warnings, code, lambda *_: RECORDED_SLACK_S))


def change(name: str, which: Callable[[Event], bool], how: Change, nth: int = 0) -> list[str]:
    """Return the differences after one event of a recording was changed, or left out."""
    scenario = load_scenarios()[name]
    events = list(scenario.timeline)
    index = [place for place, event in enumerate(events) if which(event)][nth]
    changed = how(events[index])
    events[index : index + 1] = [changed] if changed else []
    return differences(scenario, sorted(events, key=lambda event: event.at_s))


def is_a(what: str, tag: str = "") -> Callable[[Event], bool]:
    return lambda event: event.what == what and (not tag or event.tag == tag)


def is_last_try(event: Event) -> bool:
    return event.what == "delete" and event.tag == "m" and not event.status


def leave_out(_: Event) -> None:
    return None


@pytest.mark.parametrize("name", load_scenarios())
def test_recording_itself_then_as_recorded(name: str) -> None:
    scenario = load_scenarios()[name]
    assert differences(scenario, scenario.timeline) == []


@pytest.mark.parametrize(
    ("name", "which", "how", "complaint"),
    [
        ("A05", is_a("delete"), leave_out, "message m"),
        ("A05", is_a("exists"), leave_out, "polls of jobs"),
        ("A05", is_a("delete"), lambda event: replace(event, receipt="r2"), "message m"),
        ("A05", is_a("start"), lambda event: replace(event, count=2), "message m"),
        ("A05", is_a("delete"), lambda event: replace(event, at_s=14.0), "after end, allowed"),
        ("C3_3", is_a("update"), lambda event: replace(event, seconds=0), "message f1"),
        ("C3_0", is_a("update"), lambda event: replace(event, has_body=True), "with a body"),
        ("C3_0", is_a("create_queue"), leave_out, "queues created"),
        ("C3_0", is_a("log"), leave_out, "not warned of"),
        ("E2", lambda event: event.what == "add" and not event.status, lambda event: replace(event, text="x"), "add"),
        ("D1", is_a("start", "atmax-ok"), lambda event: replace(event, tag="over"), "message over"),
        ("F1", lambda event: event.status == "404" and event.what == "get", leave_out, "polls of jobs"),
        ("H1", is_a("visible", "h60"), leave_out, "not observed: visible"),
        ("H1", is_a("cancelled"), lambda event: replace(event, at_s=4.0), "after the stop"),
        ("H6", is_a("process exited"), lambda event: replace(event, at_s=25.0), "after the last event"),
        ("J1", is_a("update"), lambda event: replace(event, at_s=305.0), "renewed after"),
        ("Kdel_503x1", is_last_try, lambda event: replace(event, at_s=10.0), "tried again"),
        ("X1", is_a("get"), lambda event: replace(event, seconds=30, count=16), "GET asks for"),
    ],
)
def test_one_event_otherwise_then_found(name: str, which: Callable[[Event], bool], how: Change, complaint: str) -> None:
    assert any(complaint in found for found in change(name, which, how))


def test_poll_while_too_many_run_then_found() -> None:
    scenario = load_scenarios()["Btrickle"]
    early = Event(at_s=3.0, who="listener", what="get", queue="jobs")
    events = sorted([*scenario.timeline, early], key=lambda event: event.at_s)
    assert any("GET while 1 run (R9)" in found for found in differences(scenario, events))


def test_poll_left_out_of_a_row_then_found() -> None:
    assert any("allowed 0.50 to 0.50" in found for found in change("A05", is_a("get"), leave_out, nth=10))


def test_poll_after_the_stop_then_found() -> None:
    scenario = load_scenarios()["A05"]
    late = Event(at_s=18.0, who="listener", what="get", queue="jobs")
    assert any("after the stop (R46)" in found for found in differences(scenario, [*scenario.timeline, late]))


def test_other_exit_code_then_found() -> None:
    scenario = load_scenarios()["Kget_403x1"]
    assert differences(scenario, scenario.timeline, exit_code=0) == ["exit code 0, recorded -6"]
