"""Which URLs a webhook may be sent to, and what a caller is told about the others."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks.addresses import Target, UnusableUrl, check_url, is_public


def problem(url: str, *, allow_private: bool = False) -> str:
    """What the caller is told; it never repeats the URL, which may hold a password."""
    with pytest.raises(UnusableUrl) as raised:
        check_url(url, allow_private=allow_private)
    assert "s3cret" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("url", "target", "authority"),
    [
        ("https://hooks.example.com", Target("https", "hooks.example.com", 443, "/"), "hooks.example.com"),
        ("HTTPS://Hooks.Example.COM:443/", Target("https", "hooks.example.com", 443, "/"), "hooks.example.com"),
        ("https://hooks.example.com./a", Target("https", "hooks.example.com", 443, "/a"), "hooks.example.com"),
        ("https://h.example?a=1", Target("https", "h.example", 443, "/?a=1"), "h.example"),
        ("https://h.example/a/../b;c?d=%20&e=[f]@g:h/", None, "h.example"),
        ("https://xn--bcher-kva.example/", Target("https", "xn--bcher-kva.example", 443, "/"), "xn--bcher-kva.example"),
        ("https://my_hook.a-b.example/", Target("https", "my_hook.a-b.example", 443, "/"), "my_hook.a-b.example"),
        ("https://3com.example/", Target("https", "3com.example", 443, "/"), "3com.example"),
        ("https://1.2.3.4.example/", Target("https", "1.2.3.4.example", 443, "/"), "1.2.3.4.example"),
        ("https://93.184.216.34/", Target("https", "93.184.216.34", 443, "/"), "93.184.216.34"),
        ("https://93.184.216.34./", Target("https", "93.184.216.34", 443, "/"), "93.184.216.34"),
        ("https://[2606:4700:0:0::1111]/", Target("https", "2606:4700::1111", 443, "/"), "[2606:4700::1111]"),
        ("https://localhost.example.com/", None, "localhost.example.com"),
        ("https://notlocalhost.example/", None, "notlocalhost.example"),
    ],
)
def test_check_url_when_it_leads_to_the_public_internet_then_its_parts(
    url: str, target: Target | None, authority: str
) -> None:
    found = check_url(url, allow_private=False)
    assert found.authority == authority
    assert target is None or found == target


def test_check_url_when_the_path_is_special_then_it_is_sent_as_written() -> None:
    path = "/a//../b;c=1,2/%zz?d=%20&e=[f]@g:h/?&'()*+!$~"
    assert check_url(f"https://h.example{path}", allow_private=False).path == path


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "hooks.example.com",
        "//hooks.example.com/",
        "https:hooks.example.com",
        "https:/hooks.example.com",
        "https://",
        "https:///a",
        "https://:443/",
        "https://?a",
        "ftp://hooks.example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_x",
        "javascript:alert(1)",
        " https://hooks.example.com/",
        "https://hooks.example.com/ ",
        "https://hooks.example.com/\n",
        "https://hooks.example.com\n/",
        "https://hooks.exam\tple.com/",
        "https://hooks.example.com/\x00",
        "https://hooks.example.com/\r\nHost: 10.0.0.1",
        "https://hooks.example.com/ HTTP/1.1",
        "https://hooks.example.com/\ud800",
        "https://hooks.example.com/ä",
        "https://hooks.example.com/#top",
        "https://hooks.example.com#@10.0.0.1/",
        "https://hooks.example.com/a#",
        "https://user@hooks.example.com/",
        "https://user:s3cret@hooks.example.com/",
        "https://:s3cret@hooks.example.com/",
        "https://@hooks.example.com/",
        "https://hooks.example.com@10.0.0.1/",
        "https://hooks.example.com:443@10.0.0.1/",
        "https://hooks.example.com\\@10.0.0.1/",
        "https:\\\\hooks.example.com\\",
        "https://hooks.example.com\\.10.0.0.1/",
        "https://hooks%2eexample.com/",
        "https://%31%32%37.0.0.1/",
        "https://hooks.example.com:/",
        "https://hooks.example.com:+443/",
        "https://hooks.example.com:4_43/",
        "https://hooks.example.com:４４３/",
        "https://hooks.example.com:443:443/",
        "https://hooks.example.com:0000443/",
        "https://[::1",
        "https://::1/",
        "https://[::1]evil.example/",
        "https://evil.example[::1]/",
        "https://[fe80::1%25eth0]/",
        "https://[v1.a]/",
        "https://bücher.example/",
        "https://１２７.0.0.1/",
        "https://127。0。0。1/",
        "https://①②⑦.0.0.1/",
        "https://𝟏𝟐𝟕.0.0.1/",
        "https://ｌocalhost/",
        "https://hookſ.example/",
        "https://\u212aelvin.example/",
        "https://hooks.exam\u00adple.com/",
    ],
)
@pytest.mark.parametrize("allow_private", [False, True])
def test_check_url_when_it_is_no_plain_url_then_the_answer_says_how_to_write_one(url: str, allow_private: bool) -> None:
    assert problem(url, allow_private=allow_private).startswith("must be a URL such as https://hooks.example.com/jobs:")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "a.b.LocalHost.",
        "printer.local",
        "metadata.google.internal",
        "nas.home.arpa",
        "redis",
        "com.",
    ],
)
def test_check_url_when_the_name_is_a_local_networks_then_refused_unless_private_is_allowed(host: str) -> None:
    assert problem(f"https://{host}/") == "must have a host name of the public internet, not of a local network"
    assert check_url(f"https://{host}/", allow_private=True).host == host.lower().removesuffix(".")


@pytest.mark.parametrize(
    "host",
    [
        "-a.example",
        "a-.example",
        "a..example",
        ".example",
        "127.0.0.1..",
        ".",
        "..",
        "-",
        "a." * 126 + "ab",
        "a" * 64 + ".a",
    ],
)
def test_check_url_when_no_name_can_be_so_then_refused(host: str) -> None:
    assert problem(f"https://{host}/") == "must have a valid host name"


def test_check_url_when_the_name_is_as_long_as_names_can_be_then_accepted() -> None:
    name = "a." * 125 + "abc"
    assert check_url(f"https://{name}/{'b' * 100}", allow_private=False).host == name
    assert check_url(f"https://{'a' * 63}.example", allow_private=False)


@pytest.mark.parametrize(
    "url",
    [
        "http://h.example/",
        "http://h.example:443/",
        "https://h.example:80/",
        "https://h.example:8443/",
        "https://h.example:0/",
    ],
)
def test_check_url_when_it_is_not_https_on_443_then_refused(url: str) -> None:
    assert problem(url) == "must be https, on port 443"


@pytest.mark.parametrize(
    ("url", "target", "authority"),
    [
        ("http://localhost:8400/in", Target("http", "localhost", 8400, "/in"), "localhost:8400"),
        ("http://receiver/", Target("http", "receiver", 80, "/"), "receiver"),
        ("https://127.0.0.1:8443?a", Target("https", "127.0.0.1", 8443, "/?a"), "127.0.0.1:8443"),
        ("http://[::1]:443/", Target("http", "::1", 443, "/"), "[::1]:443"),
        ("https://[::1]:443/", Target("https", "::1", 443, "/"), "[::1]"),
    ],
)
def test_check_url_when_private_is_allowed_then_http_and_other_ports_are_too(
    url: str, target: Target, authority: str
) -> None:
    found = check_url(url, allow_private=True)
    assert (found, found.authority) == (target, authority)


@pytest.mark.parametrize("port", ["0", "00", "65536", "99999"])
def test_check_url_when_private_is_allowed_but_no_port_can_be_so_then_refused(port: str) -> None:
    assert problem(f"https://localhost:{port}/", allow_private=True) == "must have a port from 1 to 65535"


def test_check_url_when_it_is_too_long_then_the_answer_says_how_long_it_may_be() -> None:
    longest = "https://hooks.example.com/".ljust(2048, "a")
    assert len(check_url(longest, allow_private=False).path) == 2048 - len("https://hooks.example.com")
    assert problem(longest + "a") == "must have at most 2,048 characters"


@given(st.text(alphabet="htps:/.@#?[]%\\ 0127xX-_aé。", max_size=40).map("https://{}".format))
def test_check_url_when_it_accepts_a_host_then_it_is_a_plain_name_or_a_public_address(url: str) -> None:
    try:
        host = check_url(url, allow_private=False).host
    except UnusableUrl:
        return
    assert host.isascii()
    assert not set(host) & set("@#?[]%\\ /")
    last = host.rpartition(".")[2]
    if last.isdigit() or last.startswith("0x") or ":" in host:
        assert is_public(ip_address(host))
