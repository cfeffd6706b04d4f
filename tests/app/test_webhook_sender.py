"""Sending a webhook: what becomes of every kind of answer."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from shared.webhooks.sender import Delivery, Sender
from simulator.stack.ports import LOOPBACK
from tests.receiver import Answer, Receiver, drip, mute, saying, status

BODY = b'{"type":"job.succeeded"}'
OK = status("200 OK")
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # takes no time to make, and trusts nobody


async def send_privately(receiver: Receiver, *, timeout_s: float = 10) -> Delivery:
    """Send to the receiver as development does: by http, at its own address and port."""
    sender = Sender(allow_private=True, timeout_s=timeout_s, tls=NO_TLS)
    return await sender.send(f"http://{LOOPBACK}:{receiver.port}/in", BODY, {})


async def answered(answer: Answer, *, timeout_s: float = 10) -> Delivery:
    """What becomes of a webhook that is answered so; the connection is closed at the end in every case."""
    async with Receiver(answer) as receiver:
        delivery = await send_privately(receiver, timeout_s=timeout_s)
        await asyncio.wait_for(receiver.hung_up.wait(), 10)
    return delivery


@pytest.mark.parametrize("code", [200, 201, 202, 204, 299])
async def test_send_when_the_status_is_2xx_then_delivered(code: int) -> None:
    delivery = await answered(status(f"{code} Whatever"))
    assert (delivery, delivery.is_delivered) == (Delivery(code), True)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("300 Any", "300 Multiple Choices: redirects are not followed, the job must name the final URL"),
        ("304 Any", "304 Not Modified: redirects are not followed, the job must name the final URL"),
        ("400 Any", "400 Bad Request"),
        ("404 Any", "404 Not Found"),
        ("410 Any", "410 Gone: it wants no more webhooks"),
        ("429 Any", "429 Too Many Requests"),
        ("500 Any", "500 Internal Server Error"),
        ("599 Any", "599"),
        ("999 Any", "999"),
    ],
)
async def test_send_when_the_status_is_another_then_the_sentence_names_it(line: str, words: str) -> None:
    delivery = await answered(status(line))
    assert delivery.status == int(line[:3])
    assert not delivery.is_delivered
    assert delivery.problem is not None
    assert delivery.problem.endswith(f" answered {words}.")


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_send_when_redirected_then_not_followed(code: int) -> None:
    async with Receiver(OK) as elsewhere, Receiver(OK) as receiver:
        receiver.answer = status(f"{code} Moved", f"Location: http://{LOOPBACK}:{elsewhere.port}/")
        delivery = await send_privately(receiver)
    assert (delivery.status, delivery.is_delivered) == (code, False)
    assert (len(receiver.calls), elsewhere.calls) == (1, [])


async def test_send_when_the_environment_names_a_proxy_then_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Receiver(OK) as proxy, Receiver(OK) as receiver:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://{LOOPBACK}:{proxy.port}")
        assert await send_privately(receiver) == Delivery(200)
    assert (len(receiver.calls), proxy.calls) == (1, [])


async def test_send_when_a_cookie_was_set_then_the_next_webhook_does_not_carry_it() -> None:
    async with Receiver(status("200 OK", "Set-Cookie: a=b")) as receiver:
        sender = Sender(allow_private=True, tls=NO_TLS)
        for _ in range(2):
            assert await sender.send(f"http://{LOOPBACK}:{receiver.port}/", BODY, {}) == Delivery(200)
    assert [call.headers.get("cookie") for call in receiver.calls] == [None, None]


@pytest.mark.parametrize(
    "answer",
    [
        mute,
        drip("HTTP/1.1 200 OK\r\n", "X: y\r\n", every_s=0.02),
        drip("", "HTTP/1.1 103 Early Hints\r\n\r\n", every_s=0.02),
        drip("HTTP", ""),
    ],
    ids=["silent", "endless headers", "endless hints", "half a line"],
)
async def test_send_when_the_status_does_not_come_in_time_then_no_answer(answer: Answer) -> None:
    delivery = await answered(answer, timeout_s=0.3)
    assert delivery.status is None
    assert delivery.problem is not None
    assert delivery.problem.endswith(" did not answer within 0.3 s.")


async def test_send_when_the_body_drips_on_then_the_status_counts_and_the_time_is_kept() -> None:
    began = asyncio.get_running_loop().time()
    answer = drip("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "x", every_s=0.02)
    assert await answered(answer, timeout_s=0.3) == Delivery(200)
    assert asyncio.get_running_loop().time() - began >= 0.3


@pytest.mark.parametrize("line", ["200 OK", "500 Broken"])
async def test_send_when_the_body_is_endless_then_no_more_of_it_is_read_than_needed(line: str) -> None:
    """The time of the attempt is longer than that of a test: only the size can end it."""
    answer = drip(f"HTTP/1.1 {line}\r\nTransfer-Encoding: chunked\r\n\r\n", "1000\r\n" + "x" * 4096 + "\r\n")
    assert (await answered(answer, timeout_s=1000)).status == int(line[:3])


async def test_send_when_the_body_breaks_off_then_the_status_counts() -> None:
    assert await answered(saying("HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nabc")) == Delivery(202)
    assert (await answered(saying("HTTP/1.1 502 Bad\r\nTransfer-Encoding: chunked\r\n\r\nzzz"))).status == 502


@pytest.mark.parametrize(
    "text",
    ["", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nX: " + "y" * 200_000],
    ids=["nothing", "another protocol", "no status", "too large headers"],
)
async def test_send_when_the_answer_is_no_http_then_says_so(text: str) -> None:
    delivery = await answered(saying(text))
    assert delivery.status is None
    assert delivery.problem is not None
    assert delivery.problem.endswith(" broke the connection off, or answered in no HTTP.")


async def test_send_when_cancelled_then_it_ends_at_once_and_hangs_up() -> None:
    arrived = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await mute(writer)

    async with Receiver(answer) as receiver, asyncio.timeout(10):
        task = asyncio.create_task(send_privately(receiver))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await receiver.hung_up.wait()
