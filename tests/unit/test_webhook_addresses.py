"""Which IP addresses a webhook may be sent to, in every way there is to write one in a URL."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.webhooks.addresses import UnusableUrl, check_url, is_public

NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::2",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a00:1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::8.8.8.8",
    "64:ff9b::1:808:808",
    "100::1",
    "2001::7f00:1",
    "2001:0:808:808::1",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:808:808::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "64:ff9b::8.8.8.8",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700:4700::1111",
    "3ffe::1",
]


def url_of(address: str) -> str:
    return f"https://[{address}]/" if ":" in address else f"https://{address}/"


def problem(url: str, *, allow_private: bool = False) -> str:
    """What the caller is told."""
    with pytest.raises(UnusableUrl) as raised:
        check_url(url, allow_private=allow_private)
    return str(raised.value)


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_check_url_when_the_address_is_not_public_then_refused(text: str) -> None:
    assert not is_public(ip_address(text))
    assert problem(url_of(text)) == "must not be at an address that is private, local or reserved"
    assert check_url(url_of(text), allow_private=True).host == str(ip_address(text))


@pytest.mark.parametrize("text", [text for text in NOT_PUBLIC if ":" not in text])
def test_check_url_when_the_address_that_is_not_public_has_a_trailing_dot_then_refused(text: str) -> None:
    assert problem(f"https://{text}./") == "must not be at an address that is private, local or reserved"


@pytest.mark.parametrize("text", PUBLIC)
def test_check_url_when_the_address_is_public_then_accepted(text: str) -> None:
    assert is_public(ip_address(text))
    assert check_url(url_of(text), allow_private=False)


def test_is_public_when_the_address_has_a_zone_then_it_is_not() -> None:
    assert not is_public(ip_address("fe80::1%eth0"))


@given(st.ip_addresses().filter(lambda address: address not in IPv6Network("64:ff9b::/96")))
def test_is_public_when_the_standard_library_says_no_then_no(address: IPv4Address | IPv6Address) -> None:
    if address.is_multicast or address.is_reserved or not address.is_global:
        assert not is_public(address)


@pytest.mark.parametrize(
    "host",
    [
        "127.1",
        "127.0.1",
        "10.1",
        "0",
        "1",
        "2130706433",
        "4294967297",
        "017700000001",
        "0177.0.0.1",
        "127.0.0.01",
        "00.0.0.0",
        "0x7f000001",
        "0X7F000001",
        "0x7f.0.0.1",
        "0x7f.1",
        "127.0.0.0x1",
        "0x",
        "127.0.0.1.0x0",
        "256.1.1.1",
        "127.0.0.1.1",
        "1.2.3",
        "93.184.55330",  # 93.184.216.34, in three parts
        "hooks.example.1",
        "hooks.example.0xa",
        "127.1.",
        "0x7f000001.",
        "[::1::]",
        "[1.2.3.4]",
        "[:::]",
        "[::ffff:127.0.0.01]",
    ],
)
@pytest.mark.parametrize("allow_private", [False, True])
def test_check_url_when_the_address_has_another_notation_then_refused_wherever_it_leads(
    host: str, allow_private: bool
) -> None:
    assert problem(f"https://{host}/", allow_private=allow_private).startswith("must write an IP address as four")


@given(st.text(alphabet="0127xXaAfF.", min_size=1, max_size=20))
@example("127.1")
@example("93.184.216.34")
def test_check_url_when_the_system_reads_the_host_as_an_address_then_it_is_a_public_one_in_four_numbers(
    host: str,
) -> None:
    try:
        accepted = check_url(f"https://{host}/", allow_private=False).host
        read = socket.inet_ntoa(socket.inet_aton(accepted))
    except (UnusableUrl, OSError):
        return
    assert accepted == read
    assert is_public(IPv4Address(read))
