"""What a timer remembers: how it goes on at a start and after a run (functions-host B2, B3; recorded timer T1-T7)."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from simulator.host.ncrontab import Schedule
from simulator.host.schedule_status import NEVER, Occurrences, after_run, resume

EVERY_MINUTE = Schedule.parse("0 * * * * *")
NOW = datetime(2026, 11, 29, 19, 46, 53, 400_000, UTC)
NEXT_MINUTE = datetime(2026, 11, 29, 19, 47, tzinfo=UTC)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def test_resume_when_nothing_is_stored_counts_from_now() -> None:
    assert resume(None, EVERY_MINUTE, NOW) == Occurrences(last=NEVER, next=NEXT_MINUTE, last_updated=NOW)


@pytest.mark.parametrize("age", [minutes(0), minutes(9)])
def test_resume_when_the_schedule_is_the_same_keeps_what_is_stored_however_late(age: timedelta) -> None:
    stored = Occurrences(last=NOW - age, next=NEXT_MINUTE - age, last_updated=NOW - age)
    assert resume(stored, EVERY_MINUTE, NOW) == stored


def test_resume_when_it_has_never_run_counts_from_the_last_update() -> None:
    stored = Occurrences(last=NEVER, next=NEXT_MINUTE - minutes(5), last_updated=NOW - minutes(5))
    assert resume(stored, EVERY_MINUTE, NOW) == stored


def test_resume_when_no_instant_is_known_counts_from_now() -> None:
    stored = Occurrences(last=NEVER, next=NOW - minutes(5))
    assert resume(stored, EVERY_MINUTE, NOW) == Occurrences(last=NEVER, next=NEXT_MINUTE, last_updated=NOW)


@pytest.mark.parametrize("due_in", [minutes(-5.5), minutes(5.5)])
def test_resume_when_the_schedule_was_changed_is_never_past_due(due_in: timedelta) -> None:
    stored = Occurrences(last=NOW - minutes(10), next=NOW + due_in, last_updated=NOW - minutes(10))
    assert resume(stored, EVERY_MINUTE, NOW) == Occurrences(last=NEVER, next=NEXT_MINUTE, last_updated=NOW)


def test_resume_when_the_changed_schedule_is_not_yet_due_counts_from_the_last_run() -> None:
    hourly, last = Schedule.parse("01:00:00"), NOW - minutes(10)
    stored = Occurrences(last=last, next=last + minutes(1), last_updated=last)
    assert resume(stored, hourly, NOW) == Occurrences(last=NEVER, next=last + minutes(60), last_updated=last)


@pytest.mark.parametrize("late", [timedelta(), timedelta(microseconds=-500), timedelta(seconds=42)])
def test_after_run_when_it_was_planned_goes_on_with_the_next_minute(late: timedelta) -> None:
    before = Occurrences(last=NOW, next=NEXT_MINUTE)
    after = after_run(before, EVERY_MINUTE, NEXT_MINUTE + late, is_planned=True)
    assert after.next == NEXT_MINUTE + minutes(1)
    assert after.last == after.last_updated == max(NEXT_MINUTE, NEXT_MINUTE + late)


def test_after_run_when_it_ran_at_the_start_leaves_the_next_occurrence_ahead() -> None:
    before = Occurrences(last=NEVER, next=NEXT_MINUTE)
    after = after_run(before, EVERY_MINUTE, NOW, is_planned=False)
    assert after == Occurrences(last=NOW, next=NEXT_MINUTE, last_updated=NOW)


def test_occurrences_when_written_and_read_again_are_the_same() -> None:
    occurrences = Occurrences(last=NEVER, next=NEXT_MINUTE, last_updated=NOW)
    text = occurrences.model_dump_json(by_alias=True)
    assert text == (
        '{"Last":"0001-01-01T00:00:00+00:00","Next":"2026-11-29T19:47:00+00:00",'
        '"LastUpdated":"2026-11-29T19:46:53.400000+00:00"}'
    )
    assert Occurrences.model_validate_json(text) == occurrences


def test_occurrences_when_a_genuine_host_wrote_them_are_understood() -> None:
    text = (
        '{"Last":"0001-01-01T00:00:00","Next":"2026-11-29T19:47:00+00:00","LastUpdated":"2026-11-29T19:46:53.4000001Z"}'
    )
    assert Occurrences.model_validate_json(text) == Occurrences(last=NEVER, next=NEXT_MINUTE, last_updated=NOW)


@pytest.mark.parametrize("text", ["", "null", "{}", '{"Last":"yesterday","Next":"soon"}'])
def test_occurrences_when_the_text_is_garbled_are_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        Occurrences.model_validate_json(text)
