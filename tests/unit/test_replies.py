"""Every answer: request id, timing, and errors in the envelope."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping

import azure.functions as func
import pytest

from shared import db, log
from shared.api.numbers import Live
from shared.api.replies import replies, reply
from shared.errors import (
    AppError,
    Conflict,
    DatabaseUnavailable,
    FieldProblem,
    InvalidInput,
    InvalidJson,
    KeyReused,
    NotFound,
    PayloadTooLarge,
    QueueFull,
    RateLimited,
    UnsupportedMediaType,
)

Handler = Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]
TIMING = re.compile(r"(?:.+, )?db;dur=(\d+\.\d), total;dur=(\d+\.\d)")


async def call(handler: Handler, headers: Mapping[str, str] | None = None) -> func.HttpResponse:
    return await replies(handler)(func.HttpRequest("GET", "http://localhost/", headers=headers or {}, body=b""))


def raising(error: BaseException) -> Handler:
    async def handler(req: func.HttpRequest) -> func.HttpResponse:
        raise error

    return handler


async def fine(req: func.HttpRequest) -> func.HttpResponse:
    return reply(200, Live(), Retry_After="7")


async def test_answer_when_fine_then_json_with_its_headers() -> None:
    response = await call(fine)
    assert (response.status_code, response.mimetype) == (200, "application/json")
    assert json.loads(response.get_body()) == {"alive": True}
    assert response.headers["Retry-After"] == "7"


@pytest.mark.parametrize("given", ["a", "A.b_c-9", "x" * 64, "0" * 64])
@pytest.mark.parametrize("name", ["X-Request-Id", "x-request-id", "X-REQUEST-ID"])
async def test_request_id_when_well_formed_then_given_back_and_known_to_the_log(name: str, given: str) -> None:
    seen = []

    async def handler(req: func.HttpRequest) -> func.HttpResponse:
        seen.append(log.request_id.get())
        return await fine(req)

    response = await call(handler, {name: given})

    assert response.headers["X-Request-Id"] == given
    assert seen == [given]


@pytest.mark.parametrize("given", [None, "", " ", "a b", "a\n", "a\r\nSet-Cookie: x", "é", "٣", "x" * 65, "a/b", "a,b"])
async def test_request_id_when_missing_or_odd_then_a_new_one(given: str | None) -> None:
    headers = {} if given is None else {"X-Request-Id": given}
    ids = {(await call(fine, headers)).headers["X-Request-Id"] for _ in range(2)}
    assert len(ids) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,64}", made) and made != given for made in ids)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (InvalidJson("x"), 400, "invalid_json"),
        (NotFound("x"), 404, "not_found"),
        (Conflict("x"), 409, "conflict"),
        (PayloadTooLarge("x"), 413, "payload_too_large"),
        (UnsupportedMediaType("x"), 415, "unsupported_media_type"),
        (InvalidInput([FieldProblem("body", "is odd")]), 422, "validation_error"),
        (KeyReused("x"), 422, "idempotency_key_reused"),
        (RateLimited("x", 7), 429, "rate_limited"),
        (QueueFull("x", 7), 503, "queue_full"),
        (DatabaseUnavailable(), 503, "database_unavailable"),
        (AppError("x"), 500, "internal_error"),
    ],
)
async def test_error_when_raised_then_in_the_envelope(error: AppError, status: int, code: str) -> None:
    response = await call(raising(error), {"X-Request-Id": "r-1"})

    assert (response.status_code, response.mimetype) == (status, "application/json")
    answer = json.loads(response.get_body())
    fields = answer["error"].pop("fields", None)
    assert answer == {"error": {"code": code, "message": error.message, "request_id": "r-1"}}
    assert fields == ([{"field": "body", "problem": "is odd"}] if isinstance(error, InvalidInput) else None)
    assert ("Retry-After" in response.headers) == (status in (429, 503))
    assert TIMING.fullmatch(response.headers["Server-Timing"])


@pytest.mark.parametrize("seconds", [-5, 0, 1, 90])
async def test_busy_when_told_to_come_back_then_in_whole_seconds_of_at_least_one(seconds: int) -> None:
    response = await call(raising(RateLimited("x", seconds)))
    assert response.headers["Retry-After"] == str(max(1, seconds))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("password=secret"),
        KeyError("secret"),
        RecursionError("secret"),
        ExceptionGroup("secret", [OSError()]),
    ],
)
async def test_error_when_unexpected_then_500_logged_and_without_its_words(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    response = await call(raising(error), {"X-Request-Id": "r-1"})

    assert response.status_code == 500
    body = response.get_body().decode()
    assert json.loads(body)["error"]["code"] == "internal_error"
    assert "secret" not in body
    assert type(error).__name__ not in body
    [record] = caplog.records
    assert record.levelname == "ERROR"
    assert "r-1" in record.getMessage()
    assert record.exc_info is not None


async def test_timing_then_database_time_is_part_of_the_total() -> None:
    async def handler(req: func.HttpRequest) -> func.HttpResponse:
        for _ in range(2):
            async with db.translated():
                pass
        return await fine(req)

    match = TIMING.fullmatch((await call(handler)).headers["Server-Timing"])

    assert match is not None
    assert 0 <= float(match[1]) <= float(match[2])


async def test_timing_when_it_is_a_post_then_the_limits_time_is_told_too() -> None:
    response = await replies(fine)(func.HttpRequest("POST", "http://localhost/", body=b""))
    names = re.findall(r"(\w+);dur=", response.headers["Server-Timing"])
    assert sorted(names) == ["db", "rate_limit", "total"]


def test_function_when_wrapped_then_keeps_its_name() -> None:
    assert replies(fine).__name__ == "fine"
