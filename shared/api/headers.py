"""The headers of the API as its document describes them: those that are heard, and those that are sent."""

from __future__ import annotations

from typing import Any

#: Of every answer of ours; the host's own 401 has none.
ALWAYS = ("X-Request-Id", "Server-Timing")

HEARD: dict[str, dict[str, Any]] = {
    "Idempotency-Key": {
        "description": "A new one for each new request, for instance a UUID. The same request again with the same key"
        " gets the first answer, for a week; another request with it is refused.",
        "schema": {"type": "string", "pattern": "^[!-~]{8,100}$"},
    },
    "If-None-Match": {
        "description": "The ETag of the version that you have; then 304 if it is the newest.",
        "schema": {"type": "string"},
    },
    "Prefer": {
        "description": "`wait=20`: hold the answer until state or progress changes, 60 s at most; with"
        " `wait=20; state=running; progress=40` until they are no longer what you have seen. Anything else is ignored.",
        "schema": {"type": "string"},
        "example": "wait=20",
    },
    "traceparent": {
        "description": "W3C trace context: the work in the background belongs to this trace. Ignored if malformed.",
        "schema": {"type": "string"},
    },
    "X-Request-Id": {
        "description": "A name of yours for this request (1–64 of A–Z a–z 0–9 . _ -); otherwise it gets one.",
        "schema": {"type": "string"},
    },
}

SENT: dict[str, dict[str, Any]] = {
    "ETag": {"description": "This version.", "required": True, "schema": {"type": "string"}},
    "Idempotent-Replayed": {
        "description": "`true` when this is the first answer again.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Location": {
        "description": "The job's address, as `status_url`.",
        "required": True,
        "schema": {"type": "string"},
        "example": "/v1/jobs/1",
    },
    "Retry-After": {
        "description": "Whole seconds until it is worth asking again.",
        "schema": {"type": "integer", "minimum": 1},
        "example": 2,
    },
    "Server-Timing": {
        "description": "Milliseconds spent: db, total, and of a POST rate_limit.",
        "required": True,
        "schema": {"type": "string"},
        "example": "rate_limit;dur=2.1, db;dur=2.4, total;dur=4.0",
    },
    "X-Request-Id": {
        "description": "This request's name, also in our log.",
        "required": True,
        "schema": {"type": "string"},
        "example": "5f2b7c9e8a1d4c3fb6e0a9d8c7b6a5f4",
    },
}
