"""What a chaos run reads and says: provider marks as calls, messages in any wrapping, and the closing lines."""

from __future__ import annotations

import base64
import json

import pytest

from tests.chaos.auditor import audit
from tests.chaos.evidence import calls_of
from tests.chaos.planted.good import good_world
from tests.chaos.planted.outside import drop_dead_letter
from tests.chaos.report import Report
from tests.chaos.snapshot import Call, Message

BODY = json.dumps({"job_id": 7, "delivery": 2})


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_calls_then_are_the_marks_of_runs_and_others_are_no_jobs() -> None:
    marks = {
        "job-7/run-2/draft_reply": {"draft_reply": {"200": 1, "429": 3}},
        "job-7/run-2/batch-1": {"summarise": {"503": 1}},
        "who-knows": {"embed": {"200": 2}},
    }
    assert list(calls_of(marks)) == [
        Call(7, 2, "draft_reply", "200"),
        Call(7, 2, "draft_reply", "429", times=3),
        Call(7, 2, "batch-1", "503"),
        Call(0, 0, "embed", "200", times=2),
    ]


@pytest.mark.parametrize(
    ("text", "job_id"),
    [
        (BODY, 7),
        (in_base64(BODY), 7),
        (in_base64('{"job_id": "7"}'), None),
        (in_base64("[7]"), None),
        ("ask Bob", None),
        ("", None),
    ],
)
def test_message_then_names_the_job_that_its_text_names(text: str, job_id: int | None) -> None:
    assert Message("tickets-poison", text).job_id == job_id


def test_report_when_all_is_well_then_tells_the_counts() -> None:
    snapshot = good_world().snapshot()
    lines = Report(7, 61.2, {"kill_host": 2}, {"strangers' message": 3}, snapshot, audit(snapshot)).lines()
    assert lines[0] == "seed 7, 61 s"
    assert lines[1].endswith("kill_host 2")
    assert lines[3].endswith("4 wanted, 4 accepted; support_reports 1, tickets 3, webhooks 2 saved")
    assert "calls         13: 200 5, 429 6, 503 2; 1 answers got again" in lines
    assert lines[-1] == "no violations"


def test_report_when_a_promise_was_broken_then_ends_with_the_evidence() -> None:
    world = good_world()
    drop_dead_letter(world)
    snapshot = world.snapshot()
    *_, head, last = Report(7, 61.2, {}, {}, snapshot, audit(snapshot)).lines()
    assert head.split() == ["VIOLATIONS", "1"]
    assert last.strip().startswith("DEAD_LETTER_MISSING: job 2")
