"""What the whole system says to requests it cannot take: over a real connection, through the real host."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from benchmarks.site import WORKER_OFF
from tests.e2e.hosts import Hosts, client_of

FUNCTION_KEY = "the-function-key"
ADDRESS_UNKNOWN = "There is nothing at this address, or not for this method."
OPEN = {"/v1/health/live", "/v1/health/ready", "/v1/openapi.json", "/v1/artifacts/{job_id}/{name}"}
GOOD = '{"customer_id": "C-0022", "subject": "Twice"}'
JSON = {"content-type": "application/json"}


@pytest.fixture
async def client(hosts: Hosts) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a host that asks for keys, without one."""
    host = hosts.start("host", "--enableAuth", SIMULATOR_HOST_FUNCTION_KEY=FUNCTION_KEY, **WORKER_OFF)
    async with client_of(host) as client:
        yield client


@pytest.fixture
def with_key(client: httpx.AsyncClient) -> httpx.AsyncClient:
    client.headers["x-functions-key"] = FUNCTION_KEY
    return client


async def test_every_route_without_a_key_is_refused_but_those_that_need_none(client: httpx.AsyncClient) -> None:
    paths = (await client.get("/v1/openapi.json")).json()["paths"]
    asked = [(method, path) for path, methods in paths.items() for method in methods]
    asked += [("get", "/v1/openapi.json"), ("get", "/nowhere")]

    answers = {(method, path): await client.request(method, re.sub(r"\{\w+\}", "1", path)) for method, path in asked}

    assert {path for (_, path), answer in answers.items() if answer.status_code != 401} == OPEN
    assert {answer.content for answer in answers.values() if answer.status_code == 401} == {b""}


@pytest.mark.parametrize("place", ["header", "query"])
async def test_route_when_the_key_is_given_then_opens_unless_it_is_another(
    client: httpx.AsyncClient, place: str
) -> None:
    async def status_with(key: str) -> int:
        if place == "header":
            return (await client.get("/v1/queue", headers={"x-functions-key": key})).status_code
        return (await client.get("/v1/queue", params={"code": key})).status_code

    assert (await status_with(FUNCTION_KEY), await status_with("another")) == (200, 401)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("path", ["/x", "/v2/tickets", "/v1/tickets/T-1/nothing", "/v1/dead-letters/%F0%9F%90%8C"])
async def test_unknown_address_then_404_in_the_envelope(with_key: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await with_key.request(method, path, headers={"x-request-id": "asked.by-me_1"})

    error = {"code": "not_found", "message": ADDRESS_UNKNOWN, "request_id": "asked.by-me_1"}
    assert (answer.status_code, answer.json()) == (404, {"error": error})
    assert answer.headers["x-request-id"] == "asked.by-me_1"


async def test_known_address_with_another_method_then_404_in_the_envelope(with_key: httpx.AsyncClient) -> None:
    answer = await with_key.delete("/v1/tickets")

    assert (answer.status_code, answer.json()["error"]["message"]) == (404, ADDRESS_UNKNOWN)


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        pytest.param("", {}, 400, "invalid_json", id="no body"),
        pytest.param("{", JSON, 400, "invalid_json", id="half an object"),
        pytest.param(GOOD.encode("utf-16"), JSON, 400, "invalid_json", id="not UTF-8"),
        pytest.param(GOOD, {"content-type": "text/plain"}, 415, "unsupported_media_type", id="text"),
        pytest.param("[1]", JSON, 422, "validation_error", id="a list"),
        pytest.param(GOOD.replace("}", ', "team": "login"}'), JSON, 422, "validation_error", id="unknown field"),
        pytest.param(GOOD.replace("Twice", "  "), JSON, 422, "validation_error", id="empty subject"),
        pytest.param(GOOD.replace("0022", "9999"), JSON, 404, "not_found", id="unknown customer"),
        pytest.param(GOOD.replace("Twice", 300_000 * "x"), JSON, 413, "payload_too_large", id="too large"),
        pytest.param(GOOD, JSON | {"idempotency-key": "short"}, 422, "validation_error", id="bad key"),
    ],
)
async def test_ticket_when_bad_then_refused_in_the_envelope_and_not_saved(
    with_key: httpx.AsyncClient, content: str | bytes, headers: dict[str, str], status: int, code: str
) -> None:
    answer = await with_key.post("/v1/tickets", content=content, headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["error"]["request_id"] == answer.headers["x-request-id"]
    assert re.search(r"db;dur=[\d.]+, total;dur=[\d.]+", answer.headers["server-timing"])
    assert (await with_key.get("/v1/jobs")).json() == {"items": [], "next": None}
