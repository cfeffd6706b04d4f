"""One call of the provider's client against a wire of the test's own."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Coroutine
from typing import Any, Literal

import httpx
import pytest

from shared.errors import (
    ProviderError,
)
from shared.provider.client import Chat, Provider

KEY = "sk-live-0123456789abcdefghij"
TICKET = "Subject: Where is my parcel?\n\nIt was due on Monday."
ASK = Chat(messages=(("system", "Task: classify."), ("user", TICKET)), max_tokens=60, as_json=True)

Answer = Callable[[httpx.Request], httpx.Response] | Callable[[httpx.Request], Coroutine[None, None, httpx.Response]]


def provider(
    wire: Answer | httpx.AsyncClient,
    *,
    url: str = "https://ai.example/v1",
    api_key: str = KEY,
    key_header: Literal["authorization", "api-key"] = "authorization",
    timeout_s: float = 10,
) -> Provider:
    return Provider(
        wire if isinstance(wire, httpx.AsyncClient) else httpx.AsyncClient(transport=httpx.MockTransport(wire)),
        url=url,
        api_key=api_key,
        key_header=key_header,
        chat_model="chat-1",
        embedding_model="embed-1",
        timeout_s=timeout_s,
    )


def completion(content: object = "Hello.", finish_reason: str = "stop", **message: object) -> dict[str, Any]:
    return {
        "choices": [{"message": {"content": content, **message}, "finish_reason": finish_reason}],
        "usage": {"total_tokens": 215},
    }


def always(status: int = 200, **response: Any) -> Answer:
    return lambda _request: httpx.Response(status, **response)


def raising(error: Exception) -> Answer:
    def answer(_request: httpx.Request) -> httpx.Response:
        raise error

    return answer


async def failure(wire: Answer | httpx.AsyncClient, **settings: Any) -> ProviderError:
    """The error of one chat call; it and its traceback may show neither the key nor the ticket."""
    with pytest.raises(ProviderError) as caught:
        await provider(wire, **settings).chat(ASK, request_id="job-7/run-1/classify")
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in shown
    assert "It was due on Monday" not in shown
    return caught.value
