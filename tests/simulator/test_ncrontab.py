"""Timer schedules, held against what the genuine parser made of the same texts."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.host.cron_field import FIELDS, CronError, read_cron
from simulator.host.ncrontab import Cron, Interval, Schedule, ScheduleError

RECORDING = Path(__file__).parents[1] / "recordings" / "ncrontab.jsonl"
CASES = [json.loads(line) for line in RECORDING.read_text(encoding="utf-8").splitlines()]
TIMES = [pytest.param(case, id=f"{case['expression']} after {case['after'][11:]}") for case in CASES if "next" in case]
ERRORS = [pytest.param(case, id=repr(case["expression"])) for case in CASES if "error" in case]
RECORDING_ENDS = datetime(2036, 1, 1)  # occurrences later than some ten years were not recorded
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)  # a Sunday


def test_recording_when_split_loses_no_line() -> None:
    assert len(TIMES) + len(ERRORS) == len(CASES) == 54


@pytest.mark.parametrize("case", TIMES)
def test_next_after_when_recorded_gives_the_genuine_times(case: dict[str, Any]) -> None:
    schedule = Schedule.parse(case["expression"])
    moment = datetime.fromisoformat(case["after"])
    for recorded in case["next"]:
        moment = schedule.next_after(moment)
        assert moment == datetime.fromisoformat(recorded)
    if len(case["next"]) not in (1, 6):
        assert schedule.next_after(moment) > RECORDING_ENDS


@pytest.mark.parametrize("case", ERRORS)
def test_parse_when_recorded_as_wrong_refuses_with_the_genuine_words(case: dict[str, Any]) -> None:
    with pytest.raises(ScheduleError) as refusal:
        Schedule.parse(case["expression"])
    recognized = f"The schedule expression '{case['expression']}' was not recognized as a valid cron expression"
    assert str(refusal.value) == f"{recognized} or timespan string: {case['message']}"


def test_next_after_when_a_date_never_comes_gives_the_end_of_time() -> None:
    assert Schedule.parse("0 0 0 30 2 *").next_after(NOON) == datetime.max.replace(tzinfo=UTC)


def test_next_after_when_the_calendar_ends_gives_the_end_of_time() -> None:
    assert Schedule.parse("0 0 0 1 1 *").next_after(datetime(9999, 6, 1)) == datetime.max


def test_next_after_keeps_the_time_zone() -> None:
    assert Schedule.parse("0 0 9 * * MON").next_after(NOON) == datetime(2026, 11, 30, 9, tzinfo=UTC)


@given(
    moment=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),
    text=st.sampled_from([case["expression"] for case in CASES if case.get("next")]),
)
def test_next_after_gives_a_later_whole_second_that_every_field_allows(moment: datetime, text: str) -> None:
    due = Schedule.parse(text).next_after(moment)
    assert due > moment
    assert due.microsecond == 0
    values = (due.second, due.minute, due.hour, due.day, due.month, due.isoweekday() % 7)
    assert all(value in allowed for value, allowed in zip(values, read_cron(text), strict=True))


@pytest.mark.parametrize(
    ("text", "second_field"),
    [
        ("50/5 * * * * *", (50, 55)),
        ("*/-5 * * * * *", tuple(range(60))),
        ("7-7/3 * * * * *", (7,)),
        ("3,1-2,*/30 * * * * *", (0, 1, 2, 3, 30)),
    ],
)
def test_read_cron_when_elements_are_mixed_gives_the_values_ascending(text: str, second_field: tuple[int, ...]) -> None:
    assert read_cron(text)[0] == second_field


@pytest.mark.parametrize("field", ["1,", ",1", "1-", "1-2-3", "1/", "/5", "1/x", "**", "1_0", "١"])
def test_read_cron_when_a_field_is_garbled_names_the_field(field: str) -> None:
    with pytest.raises(CronError, match=r"is not a valid \[Minute\] crontab field expression"):
        read_cron(f"0 {field} * * * *")


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("00:05", timedelta(minutes=5)),
        ("00:00:30", timedelta(seconds=30)),
        ("00:00:00.500", timedelta(milliseconds=500)),
        ("23:59:59", timedelta(hours=23, minutes=59, seconds=59)),
        ("24:00:00", timedelta(days=24)),
        ("1.02:00:00", timedelta(days=1, hours=2)),
        ("1:02:03:04", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("7", timedelta(days=7)),
    ],
)
def test_parse_when_the_text_is_a_timespan_counts_from_the_moment(text: str, period: timedelta) -> None:
    schedule = Schedule.parse(text)
    assert schedule == Interval(period)
    assert schedule.next_after(NOON) == NOON + period


@pytest.mark.parametrize("text", ["24:00", "00:60:00", "00:00:60", "-00:05:00", "00:00:00", "0", "5m", "1.2.3"])
def test_parse_when_the_timespan_cannot_be_waited_for_refuses(text: str) -> None:
    with pytest.raises(ScheduleError):
        Schedule.parse(text)


@pytest.mark.parametrize(
    ("text", "is_subminute"),
    [
        ("*/5 * * * * *", True),
        ("0,59 * * * * *", True),
        ("0,30 0-59 * * * *", True),
        ("0 * * * * *", False),
        ("30 * * * * *", False),
        ("* * * * *", False),
        ("* 0 * * * *", False),
        ("*/5 * * * * MON", False),
        ("00:00:59", True),
        ("00:01:00", False),
    ],
)
def test_is_subminute_when_due_more_than_once_a_minute_holds(text: str, is_subminute: bool) -> None:
    assert Schedule.parse(text).is_subminute is is_subminute


def test_adjusts_for_dst_is_true_of_cron_alone() -> None:
    assert Schedule.parse("0 * * * * *").adjusts_for_dst is Cron.adjusts_for_dst is True
    assert Schedule.parse("00:05:00").adjusts_for_dst is False


def test_fields_when_a_weekday_is_named_in_full_or_by_prefix_agree() -> None:
    weekday = FIELDS[5]
    assert weekday.read("tue") == weekday.read("Tuesday") == weekday.read("2") == (2,)
