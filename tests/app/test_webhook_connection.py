"""Sending a webhook: where the connection goes, whom TLS speaks to, and what is sent."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from ipaddress import ip_address

import pytest
import trustme

from shared.webhooks.addresses import Address
from shared.webhooks.network import system_lookup
from shared.webhooks.sender import Delivery, Sender
from simulator.stack.ports import LOOPBACK, NOBODYS
from tests.receiver import Names, Net, Receiver, status

URL = "https://hooks.example.com/jobs?from=us"
HOST = "hooks.example.com"
PUBLIC = "93.184.216.34"
BODY = '{"type":"job.succeeded","data":{"task":"Größe"}}'.encode()
OK = status("200 OK")
NOT_PUBLIC = f"{HOST} leads to an address that is private, local or reserved."


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trust(authority: trustme.CA) -> ssl.SSLContext:
    """What the sender trusts: the test's own authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(context)
    return context


def certified(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    """A receiver's side of TLS, with a certificate for `names`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


@pytest.fixture
async def receiver(authority: trustme.CA) -> AsyncIterator[Receiver]:
    """hooks.example.com, which says 200."""
    async with Receiver(OK, tls=certified(authority, HOST)) as running:
        yield running


async def test_send_when_the_name_is_public_then_sent_there_over_tls_with_the_name(
    receiver: Receiver, trust: ssl.SSLContext
) -> None:
    names, net = Names([PUBLIC]), Net(receiver.port)
    sender = Sender(allow_private=False, lookup=names.lookup, sockets=net, tls=trust)

    delivery = await sender.send(URL, BODY, {"webhook-id": "evt-1", "webhook-signature": "v1,a v1,b"})

    assert (delivery, delivery.is_delivered) == (Delivery(200), True)
    assert (names.asked, net.connected) == ([HOST], [(PUBLIC, 443)])
    (call,) = receiver.calls
    assert (call.line, call.body) == ("POST /jobs?from=us HTTP/1.1", BODY)
    assert call.headers == {
        "host": HOST,
        "content-type": "application/json",
        "user-agent": "ticket-intake-webhooks",
        "connection": "close",
        "webhook-id": "evt-1",
        "webhook-signature": "v1,a v1,b",
        "content-length": str(len(BODY)),
    }


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.5"],
        ["169.254.169.254"],
        ["168.63.129.16"],
        ["::1"],
        ["fe80::1%eth0"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::a00:5"],
        [PUBLIC, "10.0.0.5"],
        ["10.0.0.5", PUBLIC],
        [PUBLIC, "1.1.1.1", "8.8.8.8", "9.9.9.9", "::1"],
    ],
)
async def test_send_when_any_address_of_the_name_is_not_public_then_nothing_is_connected(
    addresses: list[str], receiver: Receiver, trust: ssl.SSLContext
) -> None:
    net = Net(receiver.port)
    sender = Sender(allow_private=False, lookup=Names(addresses).lookup, sockets=net, tls=trust)
    assert await sender.send(URL, BODY, {}) == Delivery(None, NOT_PUBLIC)
    assert (net.connected, receiver.calls) == ([], [])


async def test_send_when_the_name_changes_its_mind_then_each_connection_goes_where_it_was_checked(
    receiver: Receiver, trust: ssl.SSLContext
) -> None:
    names, net = Names([PUBLIC], ["127.0.0.1"], [PUBLIC]), Net(receiver.port)
    sender = Sender(allow_private=False, lookup=names.lookup, sockets=net, tls=trust)

    assert await sender.send(URL, BODY, {}) == Delivery(200)
    assert (len(names.asked), net.connected) == (1, [(PUBLIC, 443)])
    assert await sender.send(URL, BODY, {}) == Delivery(None, NOT_PUBLIC)
    assert (len(names.asked), net.connected) == (2, [(PUBLIC, 443)])


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (f"http://{HOST}/", "it must be https, on port 443."),
        (f"https://{HOST}:8443/", "it must be https, on port 443."),
        ("https://10.0.0.5/", "it must not be at an address that is private, local or reserved."),
    ],
)
async def test_send_when_the_url_was_accepted_under_other_settings_then_nothing_is_looked_up(
    url: str, problem: str, trust: ssl.SSLContext
) -> None:
    names, net = Names([PUBLIC]), Net(0)
    delivery = await Sender(allow_private=False, lookup=names.lookup, sockets=net, tls=trust).send(url, BODY, {})
    assert delivery == Delivery(None, f"The webhook's URL cannot be called: {problem}")
    assert (names.asked, net.connected) == ([], [])


async def test_send_when_the_certificate_is_for_another_name_then_nothing_is_sent(
    authority: trustme.CA, trust: ssl.SSLContext
) -> None:
    async with Receiver(OK, tls=certified(authority, "other.example.com", PUBLIC)) as receiver:
        sender = Sender(allow_private=False, lookup=Names([PUBLIC]).lookup, sockets=Net(receiver.port), tls=trust)
        delivery = await sender.send(URL, BODY, {})
    assert delivery.problem is not None
    assert delivery.problem.startswith(f"{HOST} has no valid certificate: Hostname mismatch")
    assert receiver.calls == []


async def test_send_when_the_certificate_is_of_an_unknown_authority_then_nothing_is_sent(receiver: Receiver) -> None:
    sender = Sender(allow_private=False, lookup=Names([PUBLIC]).lookup, sockets=Net(receiver.port))
    delivery = await sender.send(URL, BODY, {})
    assert delivery.problem is not None
    assert delivery.problem.startswith(f"{HOST} has no valid certificate: ")
    assert receiver.calls == []


async def test_send_when_the_certificate_is_for_the_address_then_a_url_with_the_address_is_good(
    authority: trustme.CA, trust: ssl.SSLContext
) -> None:
    async with Receiver(OK, tls=certified(authority, "2606:4700::1111")) as receiver:
        names = Names(["2606:4700::1111"])
        sender = Sender(allow_private=False, lookup=names.lookup, sockets=Net(receiver.port), tls=trust)
        assert await sender.send("https://[2606:4700:0::1111]/", BODY, {}) == Delivery(200)
    assert receiver.calls[0].headers["host"] == "[2606:4700::1111]"


async def test_send_when_the_other_side_speaks_no_tls_then_says_so(trust: ssl.SSLContext) -> None:
    async def no_tls(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(no_tls, LOOPBACK, 0) as server:
        net = Net(server.sockets[0].getsockname()[1])
        sender = Sender(allow_private=False, lookup=Names([PUBLIC]).lookup, sockets=net, tls=trust)
        delivery = await sender.send(URL, BODY, {})
    assert delivery.problem is not None
    assert delivery.problem.startswith(f"{HOST} and we found no way to speak TLS: ")


async def test_send_when_the_first_addresses_are_dead_then_the_next_one_is_tried(
    receiver: Receiver, trust: ssl.SSLContext
) -> None:
    names, net = Names(["2606:4700::1", "1.1.1.1", PUBLIC]), Net(receiver.port, dead=["2606:4700::1", "1.1.1.1"])
    sender = Sender(allow_private=False, lookup=names.lookup, sockets=net, tls=trust)
    assert await sender.send(URL, BODY, {}) == Delivery(200)
    assert net.connected == [("2606:4700::1", 443), ("1.1.1.1", 443), (PUBLIC, 443)]


async def test_send_when_many_addresses_are_dead_then_three_are_tried(trust: ssl.SSLContext) -> None:
    many = [f"1.1.1.{last}" for last in range(1, 100)]
    net = Net(0, dead=many)
    sender = Sender(allow_private=False, lookup=Names(many).lookup, sockets=net, tls=trust)
    assert await sender.send(URL, BODY, {}) == Delivery(None, f"{HOST} accepts no connection.")
    assert len(net.connected) == 3


async def test_send_when_the_name_is_unknown_then_says_so() -> None:
    async def lookup(_host: str, _port: int) -> list[Address]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    delivery = await Sender(allow_private=False, lookup=lookup, sockets=Net(0)).send(URL, BODY, {})
    assert delivery == Delivery(None, f"{HOST} has no address: Name or service not known.")


async def test_send_when_the_look_up_takes_too_long_then_it_counts_in_the_total() -> None:
    async def lookup(_host: str, _port: int) -> list[Address]:
        return await asyncio.Future()

    sender = Sender(allow_private=False, timeout_s=0.1, lookup=lookup, sockets=Net(0))
    assert await sender.send(URL, BODY, {}) == Delivery(None, f"{HOST} did not answer within 0.1 s.")


async def test_send_when_private_addresses_are_allowed_then_the_system_finds_them(receiver: Receiver) -> None:
    async with Receiver(OK) as plain:
        delivery = await Sender(allow_private=True).send(f"http://localhost:{plain.port}/in", BODY, {})
    assert delivery == Delivery(200)
    assert plain.calls[0].headers["host"] == f"localhost:{plain.port}"


async def test_system_lookup_when_asked_for_a_name_or_an_address_then_addresses() -> None:
    assert {address.is_loopback for address in await system_lookup("localhost", 443)} == {True}
    assert await system_lookup("1.1.1.1", 443) == [ip_address("1.1.1.1")]


async def test_send_when_nobody_listens_then_says_so() -> None:
    delivery = await Sender(allow_private=True).send(f"http://{LOOPBACK}:{NOBODYS}/", BODY, {})
    assert delivery == Delivery(None, f"{LOOPBACK}:{NOBODYS} accepts no connection.")


async def test_send_when_the_tls_handshake_hangs_then_no_answer_and_the_connection_is_closed(
    trust: ssl.SSLContext,
) -> None:
    hung_up = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        hung_up.set()
        writer.close()

    async with await asyncio.start_server(hang, LOOPBACK, 0) as server:
        net = Net(server.sockets[0].getsockname()[1])
        sender = Sender(allow_private=False, timeout_s=0.3, lookup=Names([PUBLIC]).lookup, sockets=net, tls=trust)
        assert await sender.send(URL, BODY, {}) == Delivery(None, f"{HOST} did not answer within 0.3 s.")
        await asyncio.wait_for(hung_up.wait(), 10)
