"""The provider's client when a call breaks: no connection, half an answer, none in time, a redirect, a cancel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from shared.errors import (
    BadAnswer,
    Misconfigured,
    ProviderError,
    TimedOut,
    Unavailable,
)
from tests.unit.provider_calls import ASK, KEY, always, failure, provider, raising


async def test_chat_when_redirected_does_not_follow() -> None:
    calls: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return httpx.Response(307, headers={"location": "https://elsewhere.example/v1/chat/completions"})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer), follow_redirects=True)
    assert type(await failure(client)) is Misconfigured
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectTimeout(""), TimedOut),
        (httpx.ReadTimeout(""), TimedOut),
        (httpx.WriteTimeout(""), TimedOut),
        (httpx.PoolTimeout(""), TimedOut),
        (httpx.ConnectError("refused"), Unavailable),
        (httpx.ReadError(""), Unavailable),
        (ConnectionResetError(), Unavailable),
        (httpx.WriteError(""), Unavailable),
        (httpx.ProxyError(""), Unavailable),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."), Unavailable),
        (httpx.DecodingError("incorrect header check"), Unavailable),
        (httpx.UnsupportedProtocol("no scheme"), Misconfigured),
        (httpx.LocalProtocolError(f"Illegal header value b'Bearer {KEY}\\n'"), Misconfigured),
    ],
)
async def test_chat_when_the_call_breaks_tells_timeout_trouble_and_set_up_apart(
    error: Exception, kind: type[ProviderError]
) -> None:
    assert type(await failure(raising(error))) is kind


@pytest.mark.parametrize("settings", [{"url": "http://a:port"}, {"url": "ai.example"}, {"api_key": f"{KEY}é"}])
async def test_chat_when_it_cannot_be_sent_is_misconfigured(settings: dict[str, str]) -> None:
    async with httpx.AsyncClient() as client:
        assert type(await failure(client, **settings)) is Misconfigured


class Stream(httpx.AsyncByteStream):
    """A body that comes chunk by chunk."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks


async def test_chat_when_the_body_cannot_be_unpacked_is_unavailable() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"this is not gzip"

    answer = always(headers={"content-encoding": "gzip"}, stream=Stream(chunks()))
    assert type(await failure(answer)) is Unavailable


async def test_chat_when_the_connection_is_cut_in_the_body_is_unavailable() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b'{"choices": ['
        raise httpx.ReadError("cut")

    assert type(await failure(always(stream=Stream(chunks())))) is Unavailable


async def test_chat_when_the_body_trickles_without_end_times_out_as_a_whole() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    async with asyncio.timeout(3):
        error = await failure(always(stream=Stream(chunks())), timeout_s=0.1)
    assert type(error) is TimedOut
    assert error.message == "The provider did not answer within 0.1 s."


@pytest.mark.parametrize(("status", "kind"), [(200, BadAnswer), (500, Unavailable)])
async def test_chat_when_the_body_has_no_end_stops_reading_after_4_mib(status: int, kind: type[ProviderError]) -> None:
    mebibytes = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal mebibytes
        while True:
            mebibytes += 1
            yield b"x" * 1024 * 1024

    assert type(await failure(always(status, stream=Stream(chunks())))) is kind
    assert mebibytes == 5


async def test_chat_when_cancelled_lets_the_cancellation_through() -> None:
    asked = asyncio.Event()

    async def answer(_request: httpx.Request) -> httpx.Response:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError("never reached")

    call = asyncio.create_task(provider(answer).chat(ASK, request_id="job-7/run-1/classify"))
    await asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
