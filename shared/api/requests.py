"""Reading a request: body, path and query into models, with the API's errors."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, TypeVar
from urllib.parse import parse_qsl, urlsplit

import azure.functions as func
from pydantic import BaseModel, TypeAdapter, ValidationError

from shared.api.fields import CustomerId
from shared.api.problems import problems
from shared.errors import (
    FieldProblem,
    InvalidInput,
    InvalidJson,
    NotFound,
    PayloadTooLarge,
    UnsupportedMediaType,
)
from shared.names import job_number, ticket_number

MAX_BODY_BYTES = 256 * 1024
LONGEST_WAIT_S = 60

M = TypeVar("M", bound=BaseModel)

_CUSTOMER_ID = TypeAdapter[str](CustomerId)
_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_IDEMPOTENCY_KEY = re.compile(r"[!-~]{8,100}")
_INTEGER = re.compile(r"[0-9]{1,19}", re.ASCII)
_WAIT = re.compile(r"wait\s*=\s*(?P<seconds>[0-9]{1,19})\s*(?P<parameters>(;[^;]*)*)", re.ASCII | re.IGNORECASE)
_SEEN = {
    "state": re.compile(r";\s*state\s*=\s*([a-z_]{1,30})\s*(?:;|$)", re.ASCII),
    "progress": re.compile(r";\s*progress\s*=\s*([0-9]{1,3})\s*(?:;|$)", re.ASCII),
}


def body(req: func.HttpRequest, model: type[M]) -> M:
    """The request's JSON body as `model`."""
    raw = req.get_body()
    if not raw:
        raise InvalidJson("The request needs a JSON body.")
    return checked(model, _json_object(req, raw))


def optional_body(req: func.HttpRequest, model: type[M]) -> M:
    """The same for a model whose fields all have defaults: no body stands for all of them."""
    raw = req.get_body()
    return checked(model, _json_object(req, raw) if raw else {})


def no_body(req: func.HttpRequest) -> None:
    """For calls that need no body: an empty object is as good as none."""
    raw = req.get_body()
    if raw and _json_object(req, raw):
        raise InvalidInput([FieldProblem("body", "this call takes no fields")])


def query(req: func.HttpRequest, model: type[M]) -> M:
    """The request's query parameters as `model`."""
    given = _empty_ones(req) | dict(req.params)
    values = {name: _number(value) if name in _numbers(model) else value for name, value in given.items()}
    return checked(model, values)


def ticket_id(req: func.HttpRequest) -> int:
    """The path's ticket id. Raises NotFound for one that no row can have."""
    name = req.route_params["ticket_id"]
    if (number := ticket_number(name)) is None:
        raise NotFound("There is no such ticket.")
    return number


def job_id(req: func.HttpRequest) -> int:
    """The path's job id. Raises NotFound for one that no row can have."""
    if (number := job_number(req.route_params["job_id"])) is None:
        raise NotFound("There is no such job.")
    return number


def customer_id(req: func.HttpRequest) -> str:
    """The path's customer id. Raises InvalidInput."""
    text = req.route_params["customer_id"]
    try:
        return _CUSTOMER_ID.validate_python(text)
    except ValidationError as exc:
        raise InvalidInput([FieldProblem("customer_id", exc.errors()[0]["msg"])]) from None


def traceparent(req: func.HttpRequest) -> str | None:
    """The caller's W3C trace context, if it is well formed."""
    return _well_formed(req.headers.get("traceparent"))


def host_traceparent(context: func.Context) -> str | None:
    """The span that the host has begun for the request or the message, if it has; a caller's goes on in it."""
    return _well_formed(context.trace_context.trace_parent)


def prefer_wait_s(req: func.HttpRequest) -> int:
    """How long the caller would wait (`Prefer: wait=20`), 0–60 seconds; 0 when it does not say so well."""
    return min(LONGEST_WAIT_S, int(found["seconds"])) if (found := _wait(req)) else 0


def prefer_seen(req: func.HttpRequest) -> tuple[str, int] | None:
    """The state and progress that a waiting caller has seen (`Prefer: wait=20; state=running; progress=40`)."""
    found = _wait(req)
    state, progress = (_SEEN[name].search(found["parameters"]) if found else None for name in ("state", "progress"))
    return (state[1], int(progress[1])) if state and progress else None


def _wait(req: func.HttpRequest) -> re.Match[str] | None:
    preferences = str(req.headers.get("prefer", "")).split(",")
    return next(filter(None, (_WAIT.fullmatch(preference.strip()) for preference in preferences)), None)


def idempotency_key(req: func.HttpRequest) -> str | None:
    """The request's Idempotency-Key, None when it has none. Raises InvalidInput."""
    key: str | None = req.headers.get("idempotency-key")
    if key is not None and not _IDEMPOTENCY_KEY.fullmatch(key):
        raise InvalidInput([FieldProblem("Idempotency-Key", "must be 8 to 100 visible ASCII characters")])
    return key


def checked(model: type[M], values: dict[str, Any]) -> M:
    """`values` as `model`. Raises InvalidInput with one entry a problem."""
    try:
        return model.model_validate(values)
    except ValidationError as exc:
        raise InvalidInput(problems(exc)) from None


def _well_formed(traceparent: str | None) -> str | None:
    return traceparent if traceparent and _TRACEPARENT.fullmatch(traceparent) else None


def _json_object(req: func.HttpRequest, raw: bytes) -> dict[str, Any]:
    if len(raw) > MAX_BODY_BYTES:
        raise PayloadTooLarge(f"The body is larger than {MAX_BODY_BYTES // 1024} KiB.")
    media_type = req.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedMediaType("Send the body as Content-Type: application/json.")
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InvalidJson("The body is not valid JSON in UTF-8.") from None
    if not isinstance(value, dict):
        raise InvalidInput([FieldProblem("body", "must be a JSON object")])
    return value


def _empty_ones(req: func.HttpRequest) -> dict[str, str]:
    """The host drops parameters without a value: a filter that somebody left empty would be none, without a word."""
    pairs = parse_qsl(urlsplit(req.url).query, keep_blank_values=True)
    return {name: "" for name, value in pairs if not value}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _numbers(model: type[BaseModel]) -> set[str]:
    return {name for name, field in model.model_fields.items() if field.annotation is int}


def _number(text: str) -> int | str:
    """A plain decimal number; anything else stays a text, which the model refuses ("1e3", "٣", " 5")."""
    return int(text) if _INTEGER.fullmatch(text) else "not a whole number"
