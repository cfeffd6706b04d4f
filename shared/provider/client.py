"""The client of the AI provider, any OpenAI-compatible API: one call, one checked answer or one error."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import urlsplit

import httpx
from opentelemetry.trace import Span, SpanKind, get_current_span

from shared.errors import BadAnswer, Misconfigured, TimedOut, Unavailable
from shared.provider.answers import chat_text, only_vector, tokens_used
from shared.provider.foreign_json import decoded
from shared.provider.hints import Remaining, remaining
from shared.provider.refusals import refusal
from shared.signals import SILENT, Signals

Endpoint = Literal["chat", "embeddings"]

_LARGEST_ANSWER = 4 * 1024 * 1024  # bytes, unpacked

# Raised before anything is sent; the exception may quote the header with the API key, so it is never chained.
_UNSENDABLE = (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeError)


@dataclass(frozen=True)
class Chat:
    """What a chat model is asked: messages as (role, content), and the longest answer in tokens."""

    messages: tuple[tuple[str, str], ...]
    max_tokens: int
    as_json: bool

    @property
    def estimated_tokens(self) -> int:
        """What the call takes from the token quota before its real usage is known, ≥ 1."""
        characters = sum(len(content) for _role, content in self.messages)
        return max(1, math.ceil(characters / 4) + self.max_tokens)


@dataclass(frozen=True)
class Reply:
    """A chat model's answer: text that Postgres can keep, tokens used (None when not told), quota left."""

    text: str
    tokens: int | None
    remaining: Remaining


class Provider:
    """Makes single calls: no retry, no waiting, no quota; `timeout_s` is the total time of one.

    Every call raises ProviderError when it has no usable answer, and lets a cancellation through.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        url: str,
        api_key: str,
        key_header: Literal["authorization", "api-key"],
        chat_model: str,
        embedding_model: str,
        timeout_s: float,
        signals: Signals = SILENT,
    ) -> None:
        self._client = client
        self._url = url.rstrip("/")
        self._api_key = api_key
        self._credential = api_key if key_header == "api-key" else f"Bearer {api_key}"
        self._key_header = key_header
        self._chat_model = chat_model
        self._embedding_model = embedding_model
        self._timeout_s = timeout_s
        self._signals = signals
        self._host = urlsplit(url).hostname or ""

    async def chat(self, ask: Chat, *, request_id: str) -> Reply:
        """The model's whole answer; one cut off by `max_tokens` is AnswerTruncated, even if it reads well."""
        question: dict[str, object] = {
            "model": self._chat_model,
            "messages": [{"role": role, "content": content} for role, content in ask.messages],
            "max_tokens": ask.max_tokens,
        }
        if ask.as_json:
            question["response_format"] = {"type": "json_object"}
        prompt = [content for _role, content in ask.messages]
        with self._calling("chat", self._chat_model):
            answer, left = await self._post("/chat/completions", question, request_id=request_id, prompt=prompt)
            reply = Reply(text=chat_text(answer), tokens=tokens_used(answer), remaining=left)
        if reply.tokens is not None:
            self._signals.tokens.add(reply.tokens)
        return reply

    async def embed(self, text: str, *, dimensions: int, request_id: str) -> tuple[list[float], Remaining]:
        """The one vector of `text`, of exactly `dimensions` finite numbers, and the quota left."""
        question: dict[str, object] = {
            "model": self._embedding_model,
            "input": text,
            "dimensions": dimensions,
        }
        with self._calling("embeddings", self._embedding_model):
            answer, left = await self._post("/embeddings", question, request_id=request_id, prompt=[text])
            return only_vector(answer, dimensions), left

    def _calling(self, operation: Endpoint, model: str) -> AbstractContextManager[Span]:
        """A span of ours alone: what travels to the provider is `X-Client-Request-Id`, and not our trace."""
        attributes = {
            "gen_ai.operation.name": operation,
            "gen_ai.request.model": model,
            "host": self._host,
        }
        return self._signals.span(f"{operation} {model}", SpanKind.CLIENT, attributes=attributes)

    async def _post(
        self, path: str, question: dict[str, object], *, request_id: str, prompt: Sequence[str]
    ) -> tuple[object, Remaining]:
        response, body = await self._exchange(path, question, request_id)
        get_current_span().set_attribute("http_status", response.status_code)
        if not response.is_success:
            raise refusal(
                response.status_code,
                response.headers,
                body,
                now=datetime.now(UTC),
                private=[self._api_key, *prompt],
            )
        if len(body) > _LARGEST_ANSWER:
            raise BadAnswer(f"The provider's answer is larger than {_LARGEST_ANSWER} bytes.")
        answer = decoded(body)
        if answer is None:
            raise BadAnswer(f"The provider answered {response.status_code} with a body that is not JSON.")
        return answer, remaining(response.headers)

    async def _exchange(self, path: str, question: dict[str, object], request_id: str) -> tuple[httpx.Response, bytes]:
        headers: dict[str, str] = {
            self._key_header: self._credential,
            "Content-Type": "application/json",
            "X-Client-Request-Id": request_id,
        }
        try:
            async with (
                asyncio.timeout(self._timeout_s),  # httpx's own timeouts start anew with every chunk
                self._client.stream(
                    "POST",
                    self._url + path,
                    content=json.dumps(question),
                    headers=headers,
                    timeout=None,
                    follow_redirects=False,
                ) as response,
            ):
                return response, await _body_of(response)
        except (TimeoutError, httpx.TimeoutException) as exc:
            raise TimedOut(f"The provider did not answer within {self._timeout_s:g} s.") from exc
        except _UNSENDABLE:
            raise Misconfigured(
                "The request cannot be sent: check PROVIDER_URL and the characters in PROVIDER_API_KEY."
            ) from None
        except (httpx.RequestError, OSError) as exc:  # not every transport translates a cut connection
            raise Unavailable(f"The connection to the provider failed ({type(exc).__name__}).") from exc


async def _body_of(response: httpx.Response) -> bytes:
    """The body, read no further than just beyond the largest answer."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _LARGEST_ANSWER:
            break
    return bytes(body)
