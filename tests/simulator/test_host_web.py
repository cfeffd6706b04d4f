"""The host's HTTP side where no process is needed to see it (functions-host C1, C2, C4, C6)."""

import asyncio
from typing import Any

import pytest

from simulator.host.host_json import HttpOptions
from simulator.host.settings import Settings
from simulator.host.trace import make_trace
from simulator.host.web.app import HttpApp
from simulator.host.web.keys import Keyring
from simulator.host.web.request import Message, Request
from simulator.host.web.throttle import Throttle, TooManyRequests


async def no_body() -> Message:
    return {"type": "http.request"}


def make_request(query: bytes = b"", *headers: tuple[bytes, bytes]) -> Request:
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "raw_path": b"/a",
        "query_string": query,
        "headers": list(headers),
    }
    return Request(scope, no_body)


def test_query_when_values_repeat_or_are_empty_then_joined_and_dropped() -> None:
    assert make_request(b"a=1&A=&a=2&b=&c&d=%C3%A4+x").query == {"a": "1,2", "d": "ä x"}


def test_headers_when_they_repeat_then_joined() -> None:
    request = make_request(b"x=%20", (b"x-a", b"1"), (b"x-a", b"2"), (b"host", "ä.example".encode()))
    assert request.headers == {"x-a": "1,2", "host": "ä.example"}
    assert request.url == "http://ä.example/a?x=%20"


def test_keys_when_none_are_set_then_new_ones_are_made_up() -> None:
    one, other = Keyring.from_settings(Settings({})), Keyring.from_settings(Settings({}))
    assert len({one.master, one.function, other.master, other.function}) == 4
    assert not one.opens("FUNCTION", make_request())


async def test_app_when_the_host_takes_too_long_to_start_then_503_without_a_body() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http"}
    await HttpApp(patience_s=0.01)(scope, no_body, send)
    assert (sent[0]["status"], sent[1]["body"]) == (503, b"")


async def test_throttle_when_more_come_than_may_wait_then_they_are_refused() -> None:
    throttle = Throttle(HttpOptions(maxoutstandingrequests=2, maxconcurrentrequests=1))
    inside: list[int] = []
    go = asyncio.Event()

    async def request(number: int) -> None:
        async with throttle.place():
            inside.append(number)
            await go.wait()

    running = [asyncio.create_task(request(number)) for number in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests):
        await request(2)
    assert inside == [0]
    go.set()
    await asyncio.gather(*running)
    assert inside == [0, 1]
    await request(3)


@pytest.mark.parametrize("parent", ["", "00-short-b7ad6b7169203331-01"])
def test_trace_when_the_caller_has_none_then_a_fresh_one(parent: str) -> None:
    (one, _), (other, _) = make_trace(parent), make_trace(parent)
    assert one != other
    assert len(one) == 55
