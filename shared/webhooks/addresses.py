"""Which URLs and addresses webhooks may call: nothing but the public internet. Pure: no look-up, no I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

LONGEST_URL = 2048

# Written out from IANA's special-purpose registries: what `ipaddress` calls global changes from one Python to the next.
_NOT_PUBLIC_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",
            "100.64.0.0/10",  # shared by carriers (CGNAT)
            "127.0.0.0/8",
            "168.63.129.16/32",  # public by its number, but inside Azure it is the platform below the machine
            "169.254.0.0/16",  # link-local, instance metadata
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # the way to 6to4 relays
            "192.168.0.0/16",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")  # all that is given out; loopback, mapped, local … lie outside
_NOT_PUBLIC_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocols: Teredo, benchmarks, ORCHID …
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which carries any IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")  # how a network without IPv4 reaches an IPv4 address (RFC 6052)

_URL = re.compile(
    r"(?P<scheme>https?)://"
    r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>[/?][a-z0-9._~:/?@!$&'()*+,;=%\[\]-]*)?",
    re.ASCII | re.IGNORECASE,
)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_LONGEST_NAME = 253
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # WHATWG URL, "ends in a number": such a host is no name
_LOCAL_NAMES = (".localhost", ".local", ".internal", ".home.arpa")  # RFC 6761, 6762, 8375; ICANN 2024
_DEFAULT_PORTS = {"http": 80, "https": 443}


class UnusableUrl(ValueError):
    """The URL may not be called; the message continues a sentence: "must be …"."""


@dataclass(frozen=True)
class Target:
    """Where a webhook goes, taken apart once: what was checked is what is called.

    `host` is a name in lower case without a trailing dot, or an address without brackets; `path` includes the query.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def is_public(address: Address) -> bool:
    """Whether the address is one of the public internet, and nothing that leads elsewhere by translation."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_V4)
    if address in _NAT64:
        return is_public(IPv4Address(address.packed[-4:]))
    return address in _GLOBAL_UNICAST and not any(address in network for network in _NOT_PUBLIC_V6)


def check_url(url: str, *, allow_private: bool) -> Target:
    """The parts of a URL that a webhook may be sent to: https on 443, at no address that is not public.

    A name is only looked up when it is called, and its addresses are checked then. `allow_private` also allows http,
    every port, and hosts of the local network. Raises UnusableUrl.
    """
    if len(url) > LONGEST_URL:
        raise UnusableUrl(f"must have at most {LONGEST_URL:,} characters")
    if not (parts := _URL.fullmatch(url)):
        raise UnusableUrl(
            "must be a URL such as https://hooks.example.com/jobs: without user name, password or #fragment, an "
            "international host name in its xn-- form, and all other special characters percent-encoded"
        )
    scheme = parts["scheme"].lower()
    port = int(parts["port"] or _DEFAULT_PORTS[scheme])
    if not allow_private and (scheme, port) != ("https", 443):
        raise UnusableUrl("must be https, on port 443")
    if not 1 <= port <= 65535:
        raise UnusableUrl("must have a port from 1 to 65535")
    host = _host(parts["host"].lower(), allow_private=allow_private)
    path = parts["path"] or "/"
    return Target(scheme, host, port, path if path.startswith("/") else "/" + path)


def _host(text: str, *, allow_private: bool) -> str:
    """The host as it is called."""
    host = text.removesuffix(".")
    if (address := _literal(host)) is not None:
        if not allow_private and not is_public(address):
            raise UnusableUrl("must not be at an address that is private, local or reserved")
        return str(address)
    labels = host.split(".")
    if len(host) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise UnusableUrl("must have a valid host name")
    if not allow_private and (len(labels) == 1 or f".{host}".endswith(_LOCAL_NAMES)):
        raise UnusableUrl("must have a host name of the public internet, not of a local network")
    return host


def _literal(host: str) -> Address | None:
    """The address that stands where a name could, None for a name.

    Only one notation counts: others, such as 127.1 or 0x7f000001, look like names here and like addresses to the
    system, so they are refused, wherever they lead.
    """
    try:
        if host.startswith("["):
            return IPv6Address(host[1:-1])
        if _NUMBER.fullmatch(host.rpartition(".")[2]):
            return IPv4Address(host)
    except ValueError:
        raise UnusableUrl("must write an IP address as four decimal numbers, or as IPv6 in brackets") from None
    return None
