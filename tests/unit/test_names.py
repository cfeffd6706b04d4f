"""Ids as they look outside."""

from __future__ import annotations

import pytest

from shared.names import job_number, ticket_name, ticket_number


def test_ticket_when_named_and_read_back_then_the_same() -> None:
    assert ticket_name(500001) == "T-500001"
    assert ticket_number("T-500001") == 500001
    assert ticket_name(None) is None


@pytest.mark.parametrize(
    "name",
    [
        *("", "T-", "T-0", "T-01", "T--1", "T-1.0", "T-٣", "T-5\x00", "t-500001", "500001", "T-500001T-500001"),
        *("T-500001 ", " T-500001", "T-500001\n", "T-9223372036854775808", "T-" + "9" * 20),
    ],
)
def test_ticket_name_when_no_row_can_have_it_then_none(name: str) -> None:
    assert ticket_number(name) is None


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "+1", "01", "abc", "1.0", "1e3", " 1", "1 ", "1\n", "٣", "9223372036854775808", "9" * 20, "1_0"],
)
def test_job_number_when_no_row_can_have_it_then_none(text: str) -> None:
    assert job_number(text) is None


def test_numbers_when_as_large_as_a_row_can_have_then_read() -> None:
    assert job_number("9223372036854775807") == 2**63 - 1
    assert ticket_number("T-9223372036854775807") == 2**63 - 1
