"""Every error that the app raises on purpose.

AppError                      code + HTTP status + a sentence for people
├─ CallerError                the request is at fault (4xx)
│  ├─ InvalidJson 400 · UnsupportedMediaType 415 · PayloadTooLarge 413
│  ├─ InvalidInput 422        carries `fields`
│  ├─ KeyReused 422           the Idempotency-Key belongs to another body
│  ├─ NotFound 404
│  └─ Conflict 409
├─ Busy                       come back later; carries `retry_after_s`
│  ├─ RateLimited 429 · QueueFull 503 · DatabaseUnavailable 503
└─ QueueUnavailable           the storage queue is out of reach (never shown to a caller)

Undelivered                   a webhook's receiver did not take an event: retry later

ProviderError                 what the AI provider did; becomes the job's `last_error`
├─ Throttled                  429: wait, no attempt lost; carries `retry_after_s`
│  └─ LaneBusy                no call was made: the quota is used up, as far as we know
├─ BreakerOpen                no call was made, or it was the breaker's trial: no attempt lost
├─ Misconfigured              401, 403, 404, insufficient_quota: the lane stops, no attempt lost
├─ Unavailable                408, 409, 5xx, cut connection: retry later, attempt counts
│  └─ TimedOut                no answer within PROVIDER_TIMEOUT
└─ Final                      no retry can help: the job fails at once
   ├─ Refused · ContentFiltered
   └─ BadAnswer · AnswerTruncated
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class FieldProblem:
    """One field of a request that cannot be accepted: its dotted name and what is wrong with it."""

    field: str
    problem: str


class AppError(Exception):
    """An error with a stable `code`, an HTTP `status` and a message that may be shown to a caller."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500

    @property
    def message(self) -> str:
        return str(self)


class CallerError(AppError):
    """The request is at fault; sending it again unchanged gives the same answer."""


class InvalidJson(CallerError):
    code, status = "invalid_json", 400


class NotFound(CallerError):
    code, status = "not_found", 404


class Conflict(CallerError):
    code, status = "conflict", 409


class PayloadTooLarge(CallerError):
    code, status = "payload_too_large", 413


class UnsupportedMediaType(CallerError):
    code, status = "unsupported_media_type", 415


class InvalidInput(CallerError):
    code, status = "validation_error", 422

    def __init__(self, fields: list[FieldProblem]) -> None:
        super().__init__("The request has fields that cannot be accepted.")
        self.fields = fields


class KeyReused(CallerError):
    code, status = "idempotency_key_reused", 422


class Busy(AppError):
    """Nothing is wrong with the request; `retry_after_s` (seconds, ≥ 1) says when to send it again."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = max(1, retry_after_s)


class RateLimited(Busy):
    code, status = "rate_limited", 429


class QueueFull(Busy):
    code, status = "queue_full", 503


class DatabaseUnavailable(Busy):
    code, status = "database_unavailable", 503

    def __init__(self) -> None:
        super().__init__("The database cannot be reached at the moment.", retry_after_s=2)


class QueueUnavailable(AppError):
    """The storage queue did not answer; what was to be sent stays in the outbox."""


class Undelivered(Exception):
    """A webhook's receiver did not take an event; `status` is its answer's, None when there was none."""

    def __init__(self, message: str, *, status: int | None) -> None:
        super().__init__(message)
        self.status = status


class ProviderError(Exception):
    """A call to the AI provider that gave no usable answer; `code` is a job error code of the API."""

    code: str = "provider_unavailable"

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s

    @property
    def message(self) -> str:
        return str(self)


class Throttled(ProviderError):
    """429: the quota is used up for now; `retry_after_s` is the provider's hint, None when it gave no usable one."""


class LaneBusy(Throttled):
    """The shared quota has no call left within a reasonable wait."""


class BreakerOpen(ProviderError):
    """The endpoint's breaker lets no call through; `code` is that of the trouble that opened it."""

    def __init__(self, message: str, *, code: str = "provider_unavailable", retry_after_s: float) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.code = code


class Misconfigured(ProviderError):
    """The set-up is wrong (key, account, model name), not the job."""

    code = "provider_config"


class Unavailable(ProviderError):
    """The provider is in trouble; the same call may succeed later."""


class TimedOut(Unavailable):
    code = "provider_timeout"


class Final(ProviderError):
    """The same call would give the same answer: the job fails at once."""


class Refused(Final):
    code = "provider_refused"


class ContentFiltered(Final):
    code = "content_filter"


class BadAnswer(Final):
    code = "bad_answer"


class AnswerTruncated(Final):
    code = "answer_truncated"
