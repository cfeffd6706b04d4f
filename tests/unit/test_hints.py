"""Retry-After and rate headers: field reports A07 and A08 (client part)."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.provider.hints import Remaining, remaining, retry_after_s

NOW = datetime(2026, 10, 10, 12, 0, 0, tzinfo=UTC)
IN_5_S = format_datetime(NOW + timedelta(seconds=5), usegmt=True)


def seconds(*headers: tuple[str, str | bytes]) -> float | None:
    raw = [(name.encode(), text if isinstance(text, bytes) else text.encode()) for name, text in headers]
    return retry_after_s(httpx.Headers(raw), NOW)


@pytest.mark.parametrize(
    ("text", "wait_s"),
    [
        ("2", 2.0),
        ("1.5", 1.5),
        (" 3 ", 3.0),
        ("0", 0.0),
        ("86400", 86400.0),
        (IN_5_S, 5.0),
        (IN_5_S.replace("GMT", "-0000"), 5.0),
        (IN_5_S.replace("GMT", "+0100"), 0.0),
        ("Saturday, 10-Oct-26 12:00:07 GMT", 7.0),
        ("Sat Oct 10 12:00:08 2026", 8.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        (
            "Fri, 31 Dec 9999 23:59:59 GMT",
            (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - NOW).total_seconds(),
        ),
    ],
)
def test_retry_after_when_valid_gives_the_wait(text: str, wait_s: float) -> None:
    assert seconds(("Retry-After", text)) == wait_s


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "+1",
        "NaN",
        "Infinity",
        "1e999",
        "1e3",
        "9" * 400,
        "soon",
        "5s",
        "1_000",
        "٣",
        "1,5",
        ".5",
        "2, 30",
        "Wed, 21 Oct 2015 07:28:60 GMT",
        "Wed, 21 Oct 2015 07:28:00 +9999",
        "1 Jan 99999999999 00:00:00",
        b"\xff\x00",
    ],
)
def test_retry_after_when_absurd_gives_none(text: str | bytes) -> None:
    assert seconds(("Retry-After", text)) is None


def test_retry_after_when_absent_gives_none() -> None:
    assert seconds() is None


def test_retry_after_ms_when_both_are_given_wins() -> None:
    assert seconds(("Retry-After", "30"), ("retry-after-ms", "185")) == 0.185


@pytest.mark.parametrize("text", ["", "-5", "nan", "soon", IN_5_S])
def test_retry_after_ms_when_absurd_leaves_the_word_to_retry_after(text: str) -> None:
    assert seconds(("retry-after-ms", text), ("Retry-After", "30")) == 30.0


def test_retry_after_when_sent_twice_gives_the_longer_wait() -> None:
    assert seconds(("Retry-After", "2"), ("Retry-After", "30")) == 30.0
    assert seconds(("Retry-After", IN_5_S), ("Retry-After", "NaN")) == 5.0


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["retry-after", "retry-after-ms"]),
            st.text("0123456789.,-+:eE \tJanSunGMT_٣") | st.text() | st.datetimes().map(format_datetime),
        ),
        max_size=3,
    )
)
def test_retry_after_whatever_is_sent_is_none_or_finite_and_not_negative(
    headers: list[tuple[str, str]],
) -> None:
    sent = [(name, text.encode(errors="replace")) for name, text in headers]
    wait_s = seconds(*sent)
    assert wait_s is None or (math.isfinite(wait_s) and wait_s >= 0)


def test_remaining_when_told_gives_both_counts_even_below_zero() -> None:
    headers = httpx.Headers(
        {"x-ratelimit-remaining-requests": "-1", "x-ratelimit-remaining-tokens": " 99871 "},
    )
    assert remaining(headers) == Remaining(requests=-1, tokens=99871)


@pytest.mark.parametrize("text", ["", "NaN", "1.5", "1e3", "1_000", "--1", "1, 2", "9" * 10, "soon"])
def test_remaining_when_absurd_gives_none(text: str) -> None:
    headers = httpx.Headers({"x-ratelimit-remaining-requests": text, "x-ratelimit-remaining-tokens": text})
    assert remaining(headers) == Remaining(requests=None, tokens=None)


def test_remaining_when_absent_gives_none() -> None:
    assert remaining(httpx.Headers()) == Remaining(requests=None, tokens=None)
