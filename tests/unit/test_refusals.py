"""Statuses and error bodies: the contract's error table, field reports A08, A09 and A12."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import ContentFiltered, Misconfigured, ProviderError, Refused, Throttled, Unavailable
from shared.provider.refusals import refusal

NOW = datetime(2026, 10, 10, 12, 0, 0, tzinfo=UTC)
KEY = "sk-live-0123456789abcdefghij"
PROMPT = "Task: classify.\nSubject: Where is my parcel?\nIt was due on Monday and I am at home all day."

NO_CREDIT = {"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "Pay first."}}
AZURE_FILTER = {"error": {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}


def refused(
    status: int,
    body: object = b"",
    headers: dict[str, str] | None = None,
    private: tuple[str, ...] = (KEY, PROMPT),
) -> ProviderError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return refusal(status, httpx.Headers(headers), raw, now=NOW, private=private)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (100, Unavailable),
        (301, Misconfigured),
        (304, Misconfigured),
        (307, Misconfigured),
        (400, Refused),
        (401, Misconfigured),
        (402, Misconfigured),
        (403, Misconfigured),
        (404, Misconfigured),
        (405, Refused),
        (408, Unavailable),
        (409, Unavailable),
        (413, Refused),
        (422, Refused),
        (429, Throttled),
        (500, Unavailable),
        (503, Unavailable),
        (529, Unavailable),
        (599, Unavailable),
    ],
)
def test_refusal_when_only_the_status_speaks_follows_the_table(status: int, kind: type[ProviderError]) -> None:
    error = refused(status)
    assert type(error) is kind
    assert error.message.startswith(f"The provider answered {status}: ")
    assert error.message.endswith(".")


@pytest.mark.parametrize("status", [402, 403, 429])
@pytest.mark.parametrize(
    "body", [NO_CREDIT, {"error": {"type": "insufficient_quota"}}, {"error": {"code": "insufficient_quota"}}]
)
def test_refusal_when_the_account_is_empty_is_misconfigured(status: int, body: object) -> None:
    error = refused(status, body)
    assert type(error) is Misconfigured
    assert "no credit left" in error.message


@pytest.mark.parametrize("body", [b"", b"slow down", {"error": "busy"}, {"error": {"code": "429"}}, [NO_CREDIT], 429])
def test_refusal_when_a_429_has_any_other_body_is_throttled(body: object) -> None:
    assert type(refused(429, body)) is Throttled


def test_refusal_when_a_server_error_mentions_the_quota_stays_unavailable() -> None:
    assert type(refused(503, NO_CREDIT)) is Unavailable


@pytest.mark.parametrize("status", [400, 403, 422])
@pytest.mark.parametrize(
    "body",
    [
        AZURE_FILTER,
        {"error": {"code": "content_filter"}},
        {"error": {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
        {"error": {"code": "content_policy_violation", "type": "image_generation_user_error"}},
    ],
)
def test_refusal_when_the_content_filter_blocked_is_content_filtered(status: int, body: object) -> None:
    assert type(refused(status, body)) is ContentFiltered


def test_refusal_when_the_prompt_is_too_long_says_so() -> None:
    error = refused(400, {"error": {"code": "context_length_exceeded", "message": "Maximum is 8192 tokens."}})
    assert type(error) is Refused
    assert "longer than the model can read" in error.message
    assert error.message.endswith("It said: context_length_exceeded: Maximum is 8192 tokens.")


@pytest.mark.parametrize(
    ("status", "headers", "wait_s"),
    [
        (429, {"retry-after": "30", "retry-after-ms": "250"}, 0.25),
        (429, {"retry-after": "86400"}, 86400.0),
        (429, {"retry-after": "NaN"}, None),
        (429, {}, None),
        (503, {"retry-after": "30"}, 30.0),
        (408, {"retry-after": "Sat, 10 Oct 2026 12:00:09 GMT"}, 9.0),
    ],
)
def test_refusal_when_a_wait_is_hinted_carries_it(status: int, headers: dict[str, str], wait_s: float | None) -> None:
    assert refused(status, headers=headers).retry_after_s == wait_s


@pytest.mark.parametrize(
    ("body", "quote"),
    [
        (
            {"error": {"code": "rate_limit_exceeded", "message": "Slow\r\n down."}},
            "rate_limit_exceeded: Slow down.",
        ),
        ({"error": {"type": "server_error", "message": "Oops"}}, "server_error: Oops"),
        ({"error": "busy"}, "busy"),
        ({"message": "Access denied"}, "Access denied"),
        ({"detail": "Not Found"}, "Not Found"),
        ("just a string", "just a string"),
        (b"<h1>\x00502\x1b[31m \xff Bad\x85Gateway</h1>", "<h1> 502 [31m � Bad�Gateway</h1>"),
        ({"error": {"message": "a\u202eb\ud800c\u2028d"}}, "a b c d"),
    ],
)
def test_refusal_when_the_provider_explains_quotes_it_on_one_line(body: object, quote: str) -> None:
    assert refused(500, body).message.endswith(f"It said: {quote}")


@pytest.mark.parametrize("body", [{"error": {"message": "x" * 5000}}, b"y" * 5000, {"error": {"code": "z" * 5000}}])
def test_refusal_when_the_provider_rambles_is_clipped(body: object) -> None:
    said = refused(500, body).message.partition("It said: ")[2]
    assert len(said) == 200
    assert said.endswith("…")


@pytest.mark.parametrize(
    "message",
    [
        f"Incorrect API key provided: {KEY}",
        f"{'x' * 190}{KEY}",
        f"Cut: {KEY[:22]}",
        f"Invalid value: {PROMPT}",
        f"Invalid value: {PROMPT!r}",
        "Invalid value: 'I am at home all day.'",
    ],
)
def test_refusal_when_the_provider_repeats_key_or_prompt_leaves_its_words_out(message: str) -> None:
    error = refused(401, {"error": {"code": "invalid_api_key", "message": message}})
    assert error.message == ("The provider answered 401: it does not accept PROVIDER_API_KEY. It said: invalid_api_key")


def test_refusal_when_nothing_is_private_keeps_the_words() -> None:
    assert refused(400, {"error": "Bad input"}, private=("",)).message.endswith("It said: Bad input")


def test_refusal_when_a_short_text_is_private_leaves_it_out_whole() -> None:
    assert "s3cret" not in refused(400, {"error": "Bad input: s3cret"}, private=("s3cret",)).message


shapes = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "code", "type", "message", "innererror", "detail"]), inner, max_size=4
        )
    ),
)


@settings(max_examples=50)
@given(st.integers(100, 999), shapes.map(lambda shape: json.dumps(shape).encode()) | st.binary())
def test_refusal_whatever_the_body_is_gives_one_storable_line(status: int, body: bytes) -> None:
    message = refused(status, body).message
    assert message.isprintable()
    assert message.encode()
