"""The firewall rule for the deploying machine: there while it is needed, and gone after it."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from infra.database.__main__ import main, reachable
from infra.database.door import Closed, open_door
from tests.infra.like_azure import deployment

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


def test_reachable_when_public_then_through_the_door_for_this_machines_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEPLOYER_IP", raising=False)
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, request.url.host, "203.0.113.7" in request.content.decode()))
        return httpx.Response(200, text="203.0.113.7\n")

    public = replace(deployment(), is_private=False)
    with httpx.Client(transport=httpx.MockTransport(answer)) as http, reachable(public, http, lambda: "a token"):
        assert asked == [("GET", "api.ipify.org", False), ("PUT", "management.azure.com", True)]
    assert asked[-1] == ("DELETE", "management.azure.com", False)


def test_reachable_when_private_then_azure_is_not_asked() -> None:
    azure = Azure()
    with azure.client() as http, reachable(deployment(), http, lambda: "a token"):
        assert not azure.asked


def test_main_when_there_is_no_deployment_then_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DATABASE_HOST", raising=False)
    assert main() == 1
    assert "DATABASE_HOST" in capsys.readouterr().err
