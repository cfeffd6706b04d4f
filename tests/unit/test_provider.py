"""The provider's client at the wire: what it sends, and what becomes of every kind of answer."""

from __future__ import annotations

import json

import httpx
import pytest

from shared.errors import (
    AnswerTruncated,
    BadAnswer,
    ContentFiltered,
    Misconfigured,
    ProviderError,
    Refused,
    Throttled,
    Unavailable,
)
from shared.provider.client import Chat, Reply
from shared.provider.hints import Remaining
from tests.unit.provider_calls import ASK, KEY, TICKET, always, completion, failure, provider


async def test_chat_when_asked_sends_what_the_api_expects() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=completion())

    await provider(answer, url="https://ai.example/v1/").chat(ASK, request_id="job-7/run-1/classify")
    (request,) = seen
    assert (request.method, str(request.url)) == ("POST", "https://ai.example/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "api-key" not in request.headers
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-client-request-id"] == "job-7/run-1/classify"
    assert json.loads(request.content) == {
        "model": "chat-1",
        "messages": [{"role": "system", "content": "Task: classify."}, {"role": "user", "content": TICKET}],
        "max_tokens": 60,
        "response_format": {"type": "json_object"},
    }


async def test_chat_when_the_model_thinks_long_is_limited_by_the_whole_call_alone() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert set(request.extensions["timeout"].values()) == {None}
        return httpx.Response(200, json=completion())

    await provider(answer).chat(ASK, request_id="job-7/run-1/classify")


async def test_chat_when_text_is_asked_for_sends_no_response_format() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert "response_format" not in json.loads(request.content)
        return httpx.Response(200, json=completion())

    ask = Chat(messages=ASK.messages, max_tokens=400, as_json=False)
    await provider(answer).chat(ask, request_id="job-7/run-1/draft_reply")


async def test_chat_when_the_prompt_holds_a_lone_surrogate_still_asks() -> None:
    ask = Chat(messages=(("user", "a\ud800b"),), max_tokens=1, as_json=False)
    reply = await provider(always(json=completion())).chat(ask, request_id="job-7/run-1/classify")
    assert reply.text == "Hello."


async def test_chat_when_answered_gives_text_tokens_and_what_is_left() -> None:
    headers = {"x-ratelimit-remaining-requests": "-1", "x-ratelimit-remaining-tokens": "99871"}
    answer = always(headers=headers, json=completion(' {"team": "billing"}\n'))
    reply = await provider(answer).chat(ASK, request_id="job-7/run-1/classify")
    assert reply == Reply('{"team": "billing"}', 215, Remaining(requests=-1, tokens=99871))


async def test_chat_when_the_answer_holds_nul_or_a_lone_surrogate_gives_storable_text() -> None:
    body = rb'{"choices": [{"message": {"content": "a\u0000b \ud800 \\u0000"}, "finish_reason": "stop"}]}'
    reply = await provider(always(content=body)).chat(ASK, request_id="job-7/run-1/draft_reply")
    assert reply == Reply("a\ufffdb \ufffd \\u0000", None, Remaining(None, None))


async def test_embed_when_asked_sends_what_the_api_expects_and_gives_the_vector() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        headers = {"x-ratelimit-remaining-tokens": "99000"}
        return httpx.Response(200, headers=headers, json={"data": [{"embedding": [0.6, 0.8, 0]}]})

    ai = provider(answer, key_header="api-key")
    found = await ai.embed("a parcel", dimensions=3, request_id="job-7/run-1/embed")
    assert found == ([0.6, 0.8, 0.0], Remaining(requests=None, tokens=99000))
    (request,) = seen
    assert (request.method, str(request.url)) == ("POST", "https://ai.example/v1/embeddings")
    assert request.headers["api-key"] == KEY
    assert "authorization" not in request.headers
    assert request.headers["x-client-request-id"] == "job-7/run-1/embed"
    assert json.loads(request.content) == {"model": "embed-1", "input": "a parcel", "dimensions": 3}


@pytest.mark.parametrize(
    "body",
    [
        b'{"data": []}',
        b'{"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}',
        b'{"data": [{"embedding": [1]}]}',
        b'{"data": [{"embedding": [NaN, 1]}]}',
        b'{"data": [{"embedding": [0, 0]}]}',
        b'{"data": [{"embedding": "AACAPwAAAAA="}]}',
        b"{}",
        b"[]",
        b"null",
    ],
)
async def test_embed_when_it_is_not_one_whole_vector_raises_bad_answer(body: bytes) -> None:
    with pytest.raises(BadAnswer):
        await provider(always(content=body)).embed("a parcel", dimensions=2, request_id="job-7/run-1/embed")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (completion('{"category":"billing","tags":["a","b"', "length"), AnswerTruncated),
        (completion('{"category":"billing"}', "length"), AnswerTruncated),
        (completion("Half an ans", "content_filter"), ContentFiltered),
        (completion(None, refusal="I can't help"), ContentFiltered),
        (completion(None, "tool_calls", tool_calls=[{"id": "call_1"}]), BadAnswer),
        (completion(""), BadAnswer),
        ({"choices": []}, BadAnswer),
        ({}, BadAnswer),
        ([], BadAnswer),
    ],
)
async def test_chat_when_a_200_is_no_whole_answer_raises_its_own_error(
    answer: object, kind: type[ProviderError]
) -> None:
    assert type(await failure(always(json=answer))) is kind


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>"), (200, b'{"choices": ['), (200, b"\xff"), (204, b"")])
async def test_chat_when_a_success_is_not_json_raises_bad_answer(status: int, body: bytes) -> None:
    error = await failure(always(status, content=body))
    assert type(error) is BadAnswer
    assert error.message == f"The provider answered {status} with a body that is not JSON."


async def test_chat_when_throttled_carries_the_hint() -> None:
    error = await failure(always(429, headers={"retry-after": "30", "retry-after-ms": "185"}, json={"error": "busy"}))
    assert type(error) is Throttled
    assert error.retry_after_s == 0.185
    assert error.message == "The provider answered 429: its quota is used up for now. It said: busy"


async def test_chat_when_throttled_until_a_date_measures_from_now() -> None:
    past = await failure(always(429, headers={"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}))
    far = await failure(always(429, headers={"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}))
    assert past.retry_after_s == 0.0
    assert far.retry_after_s is not None
    assert far.retry_after_s > 10**11


async def test_chat_when_a_503_hints_a_wait_carries_it() -> None:
    error = await failure(always(503, headers={"retry-after": "30"}))
    assert type(error) is Unavailable
    assert error.retry_after_s == 30.0


async def test_chat_when_the_account_is_empty_is_misconfigured_after_one_call() -> None:
    calls: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return httpx.Response(429, json={"error": {"code": "insufficient_quota", "message": "Pay first."}})

    assert type(await failure(answer)) is Misconfigured
    assert len(calls) == 1


async def test_chat_when_azure_filters_the_prompt_is_content_filtered() -> None:
    innererror = {"code": "ResponsibleAIPolicyViolation"}
    body = {"error": {"code": "content_filter", "innererror": innererror, "message": f"Bad prompt: {TICKET}"}}
    error = await failure(always(400, json=body))
    assert type(error) is ContentFiltered
    assert error.message.endswith("its content filter blocked the request. It said: content_filter")


@pytest.mark.parametrize("private", [KEY, TICKET])
async def test_chat_when_the_provider_repeats_key_or_prompt_shows_neither(private: str) -> None:
    error = await failure(always(422, json={"error": {"message": f"Cannot read {private}"}}))
    assert type(error) is Refused
    assert error.message == "The provider answered 422: it does not accept the request."


async def test_embed_when_the_provider_repeats_the_text_does_not_show_it() -> None:
    answer = always(400, json={"error": {"message": f"Cannot read {TICKET}"}})
    with pytest.raises(Refused) as caught:
        await provider(answer).embed(TICKET, dimensions=2, request_id="job-7/run-1/embed")
    assert caught.value.message == "The provider answered 400: it does not accept the request."


@pytest.mark.parametrize(
    ("contents", "max_tokens", "tokens"),
    [((), 0, 1), (("",), 0, 1), (("abcd", "e"), 60, 62), (("x" * 400,), 100, 200)],
)
def test_estimated_tokens_when_counted_is_a_quarter_of_the_characters_and_the_longest_answer(
    contents: tuple[str, ...], max_tokens: int, tokens: int
) -> None:
    messages = tuple(("user", content) for content in contents)
    assert Chat(messages=messages, max_tokens=max_tokens, as_json=False).estimated_tokens == tokens
