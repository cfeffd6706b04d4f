"""What a call that was not answered with 2xx means: status, headers and body → the error to raise. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import httpx

from shared.errors import ContentFiltered, Misconfigured, ProviderError, Refused, Throttled, Unavailable
from shared.provider.foreign_json import decoded, pick
from shared.provider.hints import retry_after_s

SAID = " It said: "  # what follows is not ours

_LONGEST_QUOTE = 200
_ECHO_LENGTH = 20

# Azure names its filter in the code and the violated policy one level deeper; others use the third name.
_FILTERED = {"content_filter", "ResponsibleAIPolicyViolation", "content_policy_violation"}
_NO_CREDIT = "its account has no credit left"
_SET_UP_WRONG = {
    401: "it does not accept PROVIDER_API_KEY",
    402: _NO_CREDIT,  # "Insufficient Balance" of DeepSeek, "insufficient credits" of OpenRouter
    403: "PROVIDER_API_KEY may not use this model or address",
    404: "check PROVIDER_URL and the model names",
}


def refusal(
    status: int, headers: httpx.Headers, body: bytes, *, now: datetime, private: Sequence[str]
) -> ProviderError:
    """The error that a refused call becomes; whatever the body looks like, nothing is raised here.

    Its message is for people: the status, what it means, and the provider's own code and words on one line of
    up to 200 characters, left out where they repeat a piece of `private` (the API key, the prompt).
    `now` (aware) is what a Retry-After date is measured from.
    """
    told = decoded(body)
    codes = _texts(told, ("error", "code"), ("error", "type"), ("error", "innererror", "code"))
    words = _texts(told, ("error", "message"), ("error",), ("message",), ("detail",), ())
    if told is None:
        words = [body.decode(errors="replace")]
    kind, meaning = _judged(status, codes)
    sentence = f"The provider answered {status}: {meaning}."
    quote = _quoted([*codes[:1], *words[:1]], private)
    return kind(
        f"{sentence}{SAID}{quote}" if quote else sentence,
        retry_after_s=retry_after_s(headers, now),
    )


def _judged(status: int, codes: list[str]) -> tuple[type[ProviderError], str]:
    """The contract's table; what a code says about a 4xx is surer than the status."""
    if 400 <= status < 500 and "insufficient_quota" in codes:
        return Misconfigured, _NO_CREDIT
    if status == 429:
        return Throttled, "its quota is used up for now"
    if status in (408, 409) or not 300 <= status < 500:
        return Unavailable, "it is in trouble, the same call may succeed later"
    if not _FILTERED.isdisjoint(codes):
        return ContentFiltered, "its content filter blocked the request"
    if status < 400:
        return Misconfigured, "it redirects, which is not followed; check PROVIDER_URL"
    if status in _SET_UP_WRONG:
        return Misconfigured, _SET_UP_WRONG[status]
    if "context_length_exceeded" in codes:
        return Refused, "the request is longer than the model can read"
    return Refused, "it does not accept the request"


def _texts(told: object, *paths: tuple[str, ...]) -> list[str]:
    return [text for path in paths if isinstance(text := pick(told, *path), str)]


def _quoted(parts: list[str], private: Sequence[str]) -> str:
    secrets = [_on_one_line(secret) for secret in private]
    # Looked at beyond the cut, so that no secret hides by beginning just before it.
    lines = [_on_one_line(part[: 4 * _LONGEST_QUOTE]) for part in parts]
    quote = ": ".join(line for line in lines if line and not any(_repeats(line, it) for it in secrets))
    return quote if len(quote) <= _LONGEST_QUOTE else quote[: _LONGEST_QUOTE - 1] + "…"


def _on_one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _repeats(line: str, secret: str) -> bool:
    """Whether `line` holds the secret or twenty characters in a row of it."""
    size = min(_ECHO_LENGTH, len(secret))
    return size > 0 and any(line[at : at + size] in secret for at in range(len(line) - size + 1))
