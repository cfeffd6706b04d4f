"""Bad input to POST /v1/tickets: the right status and code, the field at fault, and nothing saved."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from shared.wiring import App
from tests.front import Front
from tests.stage import saved

GOOD = {"customer_id": "C-0022", "subject": "Charged twice"}
JSON = "application/json"
WRONG_TYPES: tuple[object, ...] = (None, 1, 1.5, True, [], {}, ["C-0022"])


@dataclass(frozen=True)
class Bad:
    """A body, how it is declared, and what it gets; `field` None = whichever."""

    body: bytes
    status: int
    code: str
    field: str | None = None
    content_type: str | None = JSON


def text(body: str, status: int, code: str) -> Bad:
    return Bad(body.encode(), status, code)


def wrong(field: str, **changes: Any) -> Bad:
    """The good ticket with one field changed for the worse."""
    return Bad(json.dumps(GOOD | changes).encode(), 422, "validation_error", field)


def without(field: str) -> Bad:
    rest = {key: value for key, value in GOOD.items() if key != field}
    return Bad(json.dumps(rest).encode(), 422, "validation_error", field)


NO_JSON = {
    "no body": text("", 400, "invalid_json"),
    "white space": text(" \n", 400, "invalid_json"),
    "prose": text("hello", 400, "invalid_json"),
    "cut off": text(json.dumps(GOOD)[:-1], 400, "invalid_json"),
    "two objects": text("{}{}", 400, "invalid_json"),
    "trailing comma": text('{"customer_id": "C-0022", "subject": "x",}', 400, "invalid_json"),
    "single quotes": text("{'customer_id': 'C-0022'}", 400, "invalid_json"),
    "a form": text("customer_id=C-0022&subject=x", 400, "invalid_json"),
    "NaN": text('{"customer_id": "C-0022", "subject": NaN}', 400, "invalid_json"),
    "Infinity": text('{"customer_id": "C-0022", "subject": -Infinity}', 400, "invalid_json"),
    "Latin-1": Bad('{"customer_id": "C-0022", "subject": "Grüße"}'.encode("latin-1"), 400, "invalid_json"),
    "UTF-16": Bad(json.dumps(GOOD).encode("utf-16"), 400, "invalid_json"),
    "broken UTF-8": Bad(b'{"customer_id": "C-0022", "subject": "\xc3("}', 400, "invalid_json"),
    "surrogates as UTF-8": Bad(b'{"customer_id": "C-0022", "subject": "\xed\xa0\x80"}', 400, "invalid_json"),
    "nested without end": text("[" * 100_000, 400, "invalid_json"),
    "nested deeply": text("[" * 100_000 + "]" * 100_000, 400, "invalid_json"),
    "raw control character": text('{"customer_id": "C-0022", "subject": "a\x01b"}', 400, "invalid_json"),
}
NO_OBJECT = {
    name: Bad(body.encode(), 422, "validation_error", "body")
    for name, body in {
        "array": "[]",
        "array of tickets": json.dumps([GOOD]),
        "text": '"x"',
        "null": "null",
        "1": "1",
    }.items()
}
NOT_DECLARED = {
    f"content type {content_type}": Bad(
        json.dumps(GOOD).encode(), 415, "unsupported_media_type", content_type=content_type
    )
    for content_type in (None, "", "text/plain", "application/xml", "application/x-www-form-urlencoded", "json", "*/*")
}
TOO_LARGE = {
    "256 KiB and a byte": Bad(b" " * (256 * 1024 - 1) + b"{}", 413, "payload_too_large"),
    "300,000 characters": Bad(json.dumps(GOOD | {"body": "x" * 300_000}).encode(), 413, "payload_too_large"),
}
BAD_FIELDS = {
    "empty object": Bad(b"{}", 422, "validation_error", "subject"),
    "no customer": without("customer_id"),
    "no subject": without("subject"),
    "unknown field": wrong("priority", priority=1),
    "unknown field, NUL in its name": Bad(b'{"a\\u0000b": 1}', 422, "validation_error"),
    "unknown field, lone surrogate in its name": Bad(b'{"\\ud800": 1}', 422, "validation_error"),
    "unknown field, empty name": Bad(b'{"": 1}', 422, "validation_error"),
    "subject empty": wrong("subject", subject=""),
    "subject of white space": wrong("subject", subject=" \t\n\u00a0\u2003"),
    "subject of 121": wrong("subject", subject="x" * 121),
    "subject of 121 emoji": wrong("subject", subject="\U0001f600" * 121),
    "subject with NUL": wrong("subject", subject="a\0b"),
    "subject of NUL": wrong("subject", subject="\0"),
    "subject with a lone surrogate": wrong("subject", subject="a\ud800b"),
    "subject with swapped surrogates": wrong("subject", subject="\udc00\ud800"),
    **{
        f"body of {size:,}": wrong("body", body="x" * size) for size in (5_001, 40_000, 49_000, 49_200, 65_536, 200_000)
    },
    "body of 5,001 euro signs": wrong("body", body="€" * 5_001),
    "body of 13,000 emoji": wrong("body", body="\U0001f600" * 13_000),
    "body of 22,000 euro signs": wrong("body", body="€" * 22_000),
    "body with NUL": wrong("body", body="\0"),
    "body with a lone surrogate": wrong("body", body="\udfff"),
    "body nested": wrong("body", body=[[[[[[1]]]]]]),
    "channel unknown": wrong("channel", channel="fax"),
    "channel in capitals": wrong("channel", channel="EMAIL"),
    "customer with NUL": wrong("customer_id", customer_id="C-0022\0"),
    "customer with a line end": wrong("customer_id", customer_id="C-0022\n"),
    "customer of other digits": wrong("customer_id", customer_id="C-٠٠٢٢"),
    **{
        f"customer {name}": wrong("customer_id", customer_id=name)
        for name in ("", "C-1", "C-123456", "c-0022", " C-0022")
    },
    **{
        f"{field} as {value!r}": wrong(field, **{field: value})
        for field in ("customer_id", "subject", "body", "channel")
        for value in WRONG_TYPES
    },
}
BAD = NO_JSON | NO_OBJECT | NOT_DECLARED | TOO_LARGE | BAD_FIELDS


async def test_ticket_when_bad_then_refused_with_its_status_and_nothing_is_saved(app: App, front: Front) -> None:
    surprises = {}
    for name, bad in BAD.items():
        headers = {} if bad.content_type is None else {"Content-Type": bad.content_type}
        answer = await front.send("POST", "/v1/tickets", bad.body, headers)
        got = (answer.status, answer.error["code"])
        if got != (bad.status, bad.code) or not (bad.field is None or bad.field in answer.fields):
            surprises[name] = (*got, answer.body[:300])
        assert "retry-after" not in answer.headers
    assert surprises == {}
    assert await saved(app.db) == {"tickets": 0, "jobs": 0, "outbox": 0}


async def test_ticket_when_several_fields_are_bad_then_all_are_named(front: Front) -> None:
    answer = await front.post("/v1/tickets", {"customer_id": "x", "subject": "", "channel": "fax", "more": 1})

    assert answer.status == 422
    assert answer.fields == {"customer_id", "subject", "channel", "more"}
    assert all(set(problem) == {"field", "problem"} for problem in answer.error["fields"])


async def test_ticket_when_customer_is_unknown_then_404_and_nothing_is_saved(app: App, front: Front) -> None:
    answer = await front.post("/v1/tickets", GOOD | {"customer_id": "C-9999"})

    assert (answer.status, answer.error["code"]) == (404, "not_found")
    assert await saved(app.db) == {"tickets": 0, "jobs": 0, "outbox": 0}


async def test_ticket_when_odd_but_fine_then_kept_as_it_was_sent(app: App, front: Front) -> None:
    fine: dict[str, dict[str, str]] = {
        "subject of 1": {"subject": "x"},
        "subject of 120 emoji": {"subject": "\U0001f600" * 120},
        "the look of NUL": {"subject": r"a\u0000b", "body": "\\u0000 \\\\u0000"},
        "body of 5,000 emoji": {"body": "\U0001f600" * 5_000},
        "body of quotes and backslashes": {"body": '"\\' * 2_500},
        "body of line ends": {"body": "\r\n\t\x01\x7f\u2028\ufeff"},
        "markup": {"body": "<script>alert('%s')</script> %(x)s {y} $1 '; DROP TABLE jobs; --"},
        "empty body": {"body": ""},
        "channel": {"channel": "email"},
    }
    for name, changes in fine.items():
        accepted = await front.post("/v1/tickets", GOOD | changes)
        assert accepted.status == 202, (name, accepted)
        kept = (await front.get(f"/v1/tickets/{accepted.json()['ticket_id']}")).json()
        assert {key: kept[key] for key in changes} == changes, name
    rows = await saved(app.db)
    assert (rows["tickets"], rows["jobs"]) == (len(fine), len(fine))


async def test_ticket_when_content_type_has_parameters_or_capitals_then_accepted(front: Front) -> None:
    for content_type in ("application/json; charset=utf-8", "Application/JSON", " application/json ;x"):
        answer = await front.send("POST", "/v1/tickets", json.dumps(GOOD).encode(), {"content-type": content_type})
        assert answer.status == 202, content_type
