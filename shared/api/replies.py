"""Answering: models and errors to HTTP responses, all with the same headers and the same envelope."""

from __future__ import annotations

import asyncio
import functools
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

import azure.functions as func
from pydantic import BaseModel

from shared import db, log, timing
from shared.api.models import AcceptedJob
from shared.api.problems import ErrorBody, Problem, ProblemField
from shared.artifacts import Artifact
from shared.errors import AppError, Busy, InvalidInput
from shared.timing import under_way

Handler = Callable[..., Awaitable[func.HttpResponse]]  # of a request and, if it asks for it, the host's context

DATABASE_LIMIT_S = 2.5  # a caller is never kept waiting for a database that does not answer

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_log = log.logger("http")


def reply(status: int, model: BaseModel, **headers: str) -> func.HttpResponse:
    """`model` as JSON; `headers` with underscores for hyphens."""
    return json_reply(
        status, model.model_dump_json(), {name.replace("_", "-"): value for name, value in headers.items()}
    )


def accepted_reply(accepted: AcceptedJob, *, is_replay: bool) -> func.HttpResponse:
    """202 with the job's address."""
    replayed = {"Idempotent_Replayed": "true"} if is_replay else {}
    return reply(202, accepted, Location=accepted.status_url, **replayed)


def file_reply(req: func.HttpRequest, file: Artifact) -> func.HttpResponse:
    """A file as it is: nothing in it may run or load anything, and no browser may guess another type."""
    etag = f'"{file.sha256}"'
    headers = {
        "Content-Type": file.content_type,  # by itself the library would add a second charset
        "ETag": etag,
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f"inline; filename*=UTF-8''{quote(file.name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    }
    if is_unchanged(req, etag):
        return func.HttpResponse(status_code=304, headers=headers)
    return func.HttpResponse(file.content, status_code=200, headers=headers)


def is_unchanged(req: func.HttpRequest, etag: str) -> bool:
    """Whether the caller has this already (If-None-Match); a proxy that compresses makes a weak tag of a strong one."""
    given = [tag.strip().removeprefix("W/") for tag in str(req.headers.get("if-none-match", "")).split(",")]
    return etag in given or "*" in given


def replies(handler: Handler) -> Handler:
    """Wrap an HTTP function: request id, timing, and every error in the envelope. No exception leaves it."""

    @functools.wraps(handler)
    async def wrapped(req: func.HttpRequest, **more: Any) -> func.HttpResponse:
        began = time.perf_counter()
        given = req.headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        log.request_id.set(request_id)
        spent = {"rate_limit": 0.0, "db": 0.0} if req.method == "POST" else {"db": 0.0}
        timing.spent.set(spent)
        db.deadline.set(asyncio.get_running_loop().time() + DATABASE_LIMIT_S)
        with under_way.one():
            response = await _answer(handler.__name__, handler(req, **more), request_id)
        response.headers["X-Request-Id"] = request_id
        spent["total"] = time.perf_counter() - began
        response.headers["Server-Timing"] = ", ".join(f"{name};dur={1000 * s:.1f}" for name, s in spent.items())
        return response

    return wrapped


async def _answer(name: str, answer: Awaitable[func.HttpResponse], request_id: str) -> func.HttpResponse:
    try:
        return await answer
    except AppError as exc:
        return _problem(exc, request_id)
    except Exception:
        _log.exception("%s: unexpected error (request %s)", name, request_id)
        return _problem(AppError("Something went wrong on our side."), request_id)


def _problem(error: AppError, request_id: str) -> func.HttpResponse:
    fields = [ProblemField(**asdict(f)) for f in error.fields] if isinstance(error, InvalidInput) else None
    body = ErrorBody(error=Problem(code=error.code, message=error.message, request_id=request_id, fields=fields))
    headers = {"Retry-After": str(error.retry_after_s)} if isinstance(error, Busy) else {}
    return json_reply(error.status, body.model_dump_json(exclude_none=True), headers)


def json_reply(status: int, text: str, headers: dict[str, str] | None = None) -> func.HttpResponse:
    """A JSON text as it is."""
    return func.HttpResponse(text, status_code=status, headers=headers or {}, mimetype="application/json")
