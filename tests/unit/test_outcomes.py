"""Which end of a run an error means."""

from __future__ import annotations

import pytest

from shared.errors import (
    AnswerTruncated,
    BadAnswer,
    ContentFiltered,
    DatabaseUnavailable,
    Misconfigured,
    ProviderError,
    Refused,
    Throttled,
    TimedOut,
    Unavailable,
)
from shared.runs.outcomes import Cancelled, Crashed, Failed, GivenBack, Lost, OutOfPatience, Retried, outcome_of
from shared.runs.run import Stop, Stopped


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadAnswer("x"), "bad_answer"),
        (AnswerTruncated("x"), "answer_truncated"),
        (ContentFiltered("x"), "content_filter"),
        (Refused("x"), "provider_refused"),
    ],
)
def test_error_when_no_retry_can_help_then_failed_with_its_code(error: ProviderError, code: str) -> None:
    outcome = outcome_of(error)
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.error.message) == (code, "x")


@pytest.mark.parametrize(
    ("error", "code", "hint_s"),
    [
        (Unavailable("x"), "provider_unavailable", None),
        (Unavailable("x", retry_after_s=30), "provider_unavailable", 30),
        (TimedOut("x"), "provider_timeout", None),
    ],
)
def test_error_when_it_may_pass_then_retried(error: ProviderError, code: str, hint_s: float | None) -> None:
    outcome = outcome_of(error)
    assert isinstance(outcome, Retried)
    assert (outcome.error.code, outcome.hint_s) == (code, hint_s)


@pytest.mark.parametrize("hint_s", [None, 0.0, 1.5])
def test_throttling_then_given_back_for_as_long_as_the_hint_says(hint_s: float | None) -> None:
    outcome = outcome_of(Throttled("x", retry_after_s=hint_s))
    assert isinstance(outcome, GivenBack)
    assert (outcome.reason, outcome.wait_s) == ("quota", hint_s)


def test_wrong_setup_then_given_back_for_a_minute_under_its_code() -> None:
    outcome = outcome_of(Misconfigured("x"))
    assert isinstance(outcome, GivenBack)
    assert (outcome.reason, outcome.wait_s) == ("breaker", 60)
    assert outcome.error is not None
    assert outcome.error.code == "provider_config"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("lost", Lost), ("cancelled", Cancelled), ("deadline", Failed), ("shutdown", GivenBack), ("slice", GivenBack)],
)
def test_stop_then_the_end_that_its_reason_means(reason: Stop, kind: type[object]) -> None:
    outcome = outcome_of(Stopped(reason))
    assert isinstance(outcome, kind)
    if isinstance(outcome, Failed):
        assert outcome.error.code == "job_timeout"
    if isinstance(outcome, GivenBack):
        assert outcome.reason == reason


def test_database_away_for_too_long_then_later_without_blame() -> None:
    assert isinstance(outcome_of(DatabaseUnavailable()), OutOfPatience)


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), MemoryError(), RecursionError()])
def test_error_when_nobody_expected_it_then_crashed_with_itself(error: Exception) -> None:
    outcome = outcome_of(error)
    assert isinstance(outcome, Crashed)
    assert outcome.error is error
