"""Reading requests, apart from what the triggers' own tests send."""

from __future__ import annotations

import json

import azure.functions as func
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.api import requests
from shared.api.asked import JobQuery, NewTicket, TicketQuery
from shared.errors import AppError, CallerError, InvalidInput, PayloadTooLarge

GOOD = {"customer_id": "C-0022", "subject": "x"}
TEXT = st.text(st.characters(max_codepoint=0xFF), max_size=12)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "body", "subject"]), inner),
    max_leaves=6,
)


def request(body: bytes = b"", *, content_type: str | None = "application/json") -> func.HttpRequest:
    headers = {} if content_type is None else {"Content-Type": content_type}
    return func.HttpRequest("POST", "http://localhost/", headers=headers, body=body)


def asked(params: dict[str, str]) -> func.HttpRequest:
    return func.HttpRequest("GET", "http://localhost/", params=params, body=b"")


def traced(value: str) -> str | None:
    return requests.traceparent(func.HttpRequest("POST", "/", headers={"traceparent": value}, body=b""))


def test_body_when_good_then_the_model_with_its_defaults() -> None:
    ticket = requests.body(request(json.dumps(GOOD).encode()), NewTicket)
    assert ticket == NewTicket(customer_id="C-0022", subject="x", body="", channel="web_form")


def test_body_when_just_as_large_as_it_may_be_then_read() -> None:
    padding = b" " * (256 * 1024 - len(json.dumps(GOOD)))
    assert requests.body(request(json.dumps(GOOD).encode() + padding), NewTicket).subject == "x"
    with pytest.raises(PayloadTooLarge):
        requests.body(request(json.dumps(GOOD).encode() + padding + b" "), NewTicket)


def test_body_when_a_key_comes_twice_then_no_500() -> None:
    twice = b'{"customer_id": "C-0022", "subject": "x", "subject": "y"}'
    assert requests.body(request(twice), NewTicket).subject in ("x", "y")


@given(st.binary(max_size=60))
def test_body_when_any_bytes_then_a_ticket_or_an_error_of_the_caller(raw: bytes) -> None:
    with pytest.raises(CallerError):
        requests.body(request(raw), NewTicket)


@settings(max_examples=50)
@given(JSON_VALUES)
def test_body_when_any_json_then_a_ticket_or_an_error_of_the_caller(value: object) -> None:
    with pytest.raises(InvalidInput) as raised:
        requests.body(request(json.dumps(value).encode()), NewTicket)
    assert raised.value.fields
    assert all(isinstance(problem.field, str) and problem.field for problem in raised.value.fields)


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(["limit", "after", "state", "kind", "workspace_id"]), TEXT))
def test_query_when_any_text_then_read_or_an_error_that_names_parameters(params: dict[str, str]) -> None:
    try:
        requests.query(asked(params), JobQuery)
    except AppError as exc:
        assert isinstance(exc, InvalidInput)
        assert {problem.field for problem in exc.fields} <= set(params)


def test_query_when_empty_then_the_defaults() -> None:
    assert requests.query(asked({}), TicketQuery) == TicketQuery(
        limit=50, after=None, ai_state=None, team=None, customer_id=None
    )


@pytest.mark.parametrize("raw", [b"", b"{}", b" { } "])
def test_no_body_when_there_is_none_then_fine(raw: bytes) -> None:
    requests.no_body(request(raw, content_type="application/json" if raw else None))


def test_traceparent_when_well_formed_then_kept_otherwise_dropped() -> None:
    good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert traced(good) == good
    for bad in ("", "00", good[:-1], good.upper(), good + "-x", f"{good}\n", good.replace("00-", "٠٠-"), "x" * 70_000):
        assert traced(bad) is None
