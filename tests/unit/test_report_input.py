"""What a caller may say about a report's period."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from shared.api.problems import problems
from shared.kinds.support_report.asked import ReportInput


def fields(given: dict[str, Any]) -> set[str]:
    with pytest.raises(ValidationError) as refused:
        ReportInput.model_validate(given)
    return {problem.field for problem in problems(refused.value, within="input")}


def dumped(given: dict[str, Any]) -> dict[str, Any]:
    return ReportInput.model_validate(given).model_dump(mode="json", by_alias=True)


def test_input_when_empty_then_the_period_is_left_to_the_database() -> None:
    assert dumped({}) == {"from": None, "to": None, "max_tickets": 10_000}
    assert dumped({"from": None, "to": None}) == dumped({})


def test_dates_when_given_then_are_whole_days_in_utc() -> None:
    assert dumped({"from": "2026-11-01", "to": "2026-11-30", "max_tickets": 5}) == {
        "from": "2026-11-01T00:00:00Z",
        "to": "2026-12-01T00:00:00Z",
        "max_tickets": 5,
    }
    assert dumped({"from": "2026-11-29", "to": "2026-11-29"})["to"] == "2026-11-30T00:00:00Z"


def test_times_when_given_then_are_instants_whatever_their_zone() -> None:
    given = dumped({"from": "2026-11-01T02:00:00+02:00", "to": "2026-11-02t12:30:00.5z"})
    assert (given["from"], given["to"]) == ("2026-11-01T00:00:00Z", "2026-11-02T12:30:00.500000Z")


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "yesterday",
            "2026-13-01",
            "2026-02-30",
            "2026-1-1",
            "20261129",
            "29.11.2026",
            "2026-11-29 ",
            "٢٠٢٦-11-29",
        ),
        *("2026-11-29T12:00:00", "2026-11-29T25:00:00Z", "2026-11-29T12:00Z", "2026-11-29T12:00:00+99:00"),
        *(0, 1_700_000_000, True, 1.5, [], {}, ["2026-11-29"]),
        *("0000-01-01", "0001-01-01T00:00:00+14:00"),
    ],
)
def test_dates_when_they_are_none_then_refused_by_name(value: object) -> None:
    assert fields({"from": value}) == {"input.from"}
    assert fields({"to": value}) == {"input.to"}
    assert fields({"from": value, "to": value}) == {"input.from", "input.to"}


def test_dates_when_beyond_the_calendar_then_refused() -> None:
    assert fields({"to": "9999-12-31"}) == {"input.to"}
    assert fields({"from": "9999-12-31T23:59:59-01:00"}) == {"input.from"}


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2026-11-02", "2026-11-01"),
        ("2026-11-02T00:00:00Z", "2026-11-02T00:00:00Z"),
        ("2026-11-02T00:00:01Z", "2026-11-01"),
        ("2026-11-02T10:00:00+01:00", "2026-11-02T08:59:59Z"),
        ("2025-11-28", "2026-11-29"),
        ("2020-01-01", None),
        ((datetime.now(UTC) + timedelta(days=2)).date().isoformat(), None),
    ],
)
def test_period_when_it_ends_before_it_begins_or_is_over_a_year_then_from_is_refused(
    since: str, until: str | None
) -> None:
    assert fields({"from": since, "to": until}) == {"input.from"}


def test_period_when_it_is_a_leap_year_then_accepted() -> None:
    assert dumped({"from": "2024-01-01", "to": "2024-12-31"})["to"] == "2025-01-01T00:00:00Z"


@pytest.mark.parametrize("number", [0, -1, 10_001, "5", 5.0, True, None])
def test_max_tickets_when_out_of_range_or_no_number_then_refused(number: object) -> None:
    assert fields({"max_tickets": number}) == {"input.max_tickets"}


def test_input_when_a_field_is_unknown_then_refused() -> None:
    assert fields({"since": "2026-11-01", "from_": "2026-11-01"}) == {"input.since", "input.from_"}
