"""Which function gets a request (functions-host C1), asked of a running host."""

import pytest

from tests.host.running_host import RunningHost


def test_routes_when_two_fit_then_the_first_in_order_of_name_wins(http_host: RunningHost) -> None:
    assert http_host.get("/v1/items/stats").json()["function"] == "a_item"


def test_routes_when_the_method_is_not_listed_then_the_next_one_is_tried(http_host: RunningHost) -> None:
    assert http_host.client.post("/v1/items/stats").json()["function"] == "b_stats"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/v1/items/7"),
        ("HEAD", "/v1/items/7"),
        ("OPTIONS", "/v1/items/7"),
        ("GET", "/items/7"),
        ("GET", "/v1/pages/seven"),
        ("GET", "/v1/items"),
    ],
)
def test_routes_when_nothing_fits_then_404_without_a_body(http_host: RunningHost, method: str, path: str) -> None:
    response = http_host.client.request(method, path)
    assert (response.status_code, response.content) == (404, b"")


def test_routes_when_no_method_is_listed_then_all_are_taken(http_host: RunningHost) -> None:
    assert http_host.client.request("PURGE", "/v1/echo/x").json()["method"] == "PURGE"
    assert http_host.client.head("/v1/echo/x").status_code == 200


def test_routes_when_an_optional_value_is_absent_then_it_is_no_route_param(http_host: RunningHost) -> None:
    assert http_host.get("/v1/pages").json()["route"] == {}
    assert http_host.get("/V1/PAGES/12/").json()["route"] == {"number": "12"}


def test_start_page_when_asked_for_then_200_html(http_host: RunningHost) -> None:
    response = http_host.get("/")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html")


def test_responses_when_the_host_has_custom_headers_then_all_carry_them(http_host: RunningHost) -> None:
    assert http_host.get("/nowhere").headers["x-content-type-options"] == "nosniff"
    assert http_host.get("/v1/items/1").headers["x-content-type-options"] == "nosniff"


def test_start_when_done_then_the_functions_are_listed_as_func_does(http_host: RunningHost) -> None:
    port = http_host.client.base_url.port
    assert f"\ta_item: [GET] http://localhost:{port}/v1/items/{{id}}" in http_host.lines
    assert f"\techo: http://localhost:{port}/v1/echo/{{*rest}}" in http_host.lines
