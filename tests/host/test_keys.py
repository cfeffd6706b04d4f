"""Who may call: keys, switched-off functions, pages of other origins (functions-host C1, C2, C7, D8)."""

from collections.abc import Iterator

import pytest

from tests.host.running_host import RunningHost

KEYS = {"SIMULATOR_HOST_MASTER_KEY": "the-master", "SIMULATOR_HOST_FUNCTION_KEY": "the-key"}
OFF = {"AzureWebJobs.switched_off.Disabled": "true"}


@pytest.fixture(scope="module")
def guarded() -> Iterator[RunningHost]:
    with RunningHost("http", "--enableAuth", "--cors", "https://a.example", settings=KEYS | OFF) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "key", "status"),
    [
        ("/v1/guarded", None, 401),
        ("/v1/guarded", "wrong", 401),
        ("/v1/guarded", "the-key", 200),
        ("/v1/guarded", "the-master", 200),
        ("/v1/ruled", "the-key", 401),
        ("/v1/ruled", "the-master", 200),
        ("/v1/items/1", None, 200),
        ("/admin/host/status", None, 401),
        ("/admin/host/status", "the-master", 200),
        ("/admin/host/ping", None, 200),
        ("/v1/hidden", None, 404),
        ("/v1/hidden", "the-master", 200),
    ],
)
def test_keys_when_the_host_asks_for_them_then_the_level_decides(
    guarded: RunningHost, path: str, key: str | None, status: int
) -> None:
    headers = {"x-functions-key": key} if key else {}
    response = guarded.get(path, headers=headers)
    assert response.status_code == status
    assert response.content or status != 200 or path.endswith("ping")
    assert not response.content or status == 200


def test_keys_when_given_in_the_query_then_they_count_but_the_header_wins(guarded: RunningHost) -> None:
    assert guarded.get("/v1/guarded?code=the-key").status_code == 200
    assert guarded.get("/v1/guarded?code=the-key", headers={"x-functions-key": "no"}).status_code == 401


def test_keys_when_the_host_was_not_told_then_they_are_ignored_and_everybody_is_admin(http_host: RunningHost) -> None:
    assert http_host.get("/v1/ruled").status_code == 200
    assert http_host.get("/v1/hidden").status_code == 200
    assert "Function switched_off is disabled." in http_host.console


def test_cors_when_an_origin_is_allowed_then_its_pages_may_call(guarded: RunningHost) -> None:
    allowed = guarded.get("/v1/items/1", headers={"origin": "https://a.example"})
    assert allowed.headers["access-control-allow-origin"] == "https://a.example"
    other = guarded.get("/v1/items/1", headers={"origin": "https://b.example"})
    assert "access-control-allow-origin" not in other.headers
