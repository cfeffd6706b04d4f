"""The firewall rule for the deploying machine: there while it is needed, and gone after it."""

from __future__ import annotations

import httpx
import pytest

from infra.database.door import Closed, open_door, own_address

SERVER = "/subscriptions/s/resourceGroups/g/providers/Microsoft.DBforPostgreSQL/flexibleServers/p"


class Azure:
    """Answers with the given status codes, in order, and then with 202."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((request.method, request.content.decode()))
        assert str(request.url).startswith(f"https://management.azure.com{SERVER}/firewallRules/deploying-machine?")
        assert request.headers["authorization"] == "Bearer a token"
        return httpx.Response(self.codes.pop(0) if self.codes else 202, text="why")

    def client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self))


def test_door_when_open_then_for_one_address_and_closed_after() -> None:
    azure = Azure()
    with azure.client() as http, open_door(http, SERVER, "203.0.113.7", lambda: "a token"):
        assert azure.asked == [
            ("PUT", '{"properties":{"startIpAddress":"203.0.113.7","endIpAddress":"203.0.113.7"}}'),
        ]
    assert [method for method, _ in azure.asked] == ["PUT", "DELETE"]


def test_door_when_the_work_fails_then_closed_all_the_same() -> None:
    azure = Azure()
    with (
        pytest.raises(ZeroDivisionError),
        azure.client() as http,
        open_door(http, SERVER, "203.0.113.7", lambda: "a token"),
    ):
        raise ZeroDivisionError
    assert azure.asked[-1][0] == "DELETE"


def test_door_when_the_server_is_busy_then_tried_again() -> None:
    azure = Azure(409, 503)
    with azure.client() as http, open_door(http, SERVER, "203.0.113.7", lambda: "a token", every_s=0):
        assert [method for method, _ in azure.asked] == ["PUT"] * 3


def test_door_when_azure_refuses_then_says_why() -> None:
    azure = Azure(403)
    with (
        pytest.raises(Closed, match="403 why"),
        azure.client() as http,
        open_door(http, SERVER, "203.0.113.7", lambda: "a token"),
    ):
        pytest.fail("the door is not open")


def test_own_address_is_what_the_service_says() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="203.0.113.7\n")

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        assert own_address(http) == "203.0.113.7"
