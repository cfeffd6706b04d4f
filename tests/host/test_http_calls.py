"""What reaches an HTTP function and what comes back (functions-host C3, C6, D3, D5), asked of a running host."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.host.running_host import APPS, ROOT, RunningHost


@pytest.fixture(scope="module")
def host() -> Iterator[RunningHost]:
    with RunningHost("http") as running:
        yield running


def test_request_when_sent_whole_then_the_function_sees_it(host: RunningHost) -> None:
    seen = host.client.post("/v1/echo/a/b%20c?x=1&y=2&X=3&empty=", content=b"abc", headers={"X-One": "1"}).json()
    assert seen["method"] == "POST"
    assert seen["url"] == f"http://127.0.0.1:{host.client.base_url.port}/v1/echo/a/b%20c?x=1&y=2&X=3&empty="
    assert seen["params"] == {"x": "1,3", "y": "2"}
    assert seen["route"] == {"rest": "a/b c"}
    assert seen["headers"]["x-one"] == "1"
    assert seen["body"] == "abc"


def test_request_when_its_body_is_chunked_then_it_arrives_empty(host: RunningHost) -> None:
    assert host.client.post("/v1/echo/x", content=iter([b"abc"])).json()["body"] == ""


def test_request_when_its_slash_is_encoded_then_it_stays_encoded(host: RunningHost) -> None:
    assert host.get("/v1/items/a%2Fb").json()["route"] == {"id": "a%2Fb"}


def test_function_when_it_raises_then_500_without_a_body_and_the_reason_in_the_log(host: RunningHost) -> None:
    response = host.get("/v1/fails")
    assert (response.status_code, response.content) == (500, b"")
    host.wait_for("ValueError: a secret of the app")


@pytest.mark.parametrize("kind", ["nothing", "dict", "umlaut", "full_204"])
def test_function_when_it_returns_what_cannot_be_sent_then_500(host: RunningHost, kind: str) -> None:
    response = host.get(f"/v1/odd/{kind}")
    assert (response.status_code, response.content) == (500, b"")


def test_function_when_it_answers_204_then_204(host: RunningHost) -> None:
    assert host.get("/v1/odd/empty_204").status_code == 204


def test_function_when_it_sets_a_cookie_then_it_is_sent(host: RunningHost) -> None:
    assert host.get("/v1/odd/cookie").headers["set-cookie"].startswith("a=1;")


def test_function_when_it_returns_text_then_the_host_reads_it_as_json_if_it_can(host: RunningHost) -> None:
    def send(text: str) -> httpx.Response:
        return host.client.post("/v1/text", content=text)

    assert send("plain").text == "plain"
    assert send('{"a":1}').text == '{\n  "a": 1\n}'
    described = send(json.dumps({"body": "made", "status": 201, "headers": {"X-A": "b"}}))
    assert (described.status_code, described.text, described.headers["x-a"]) == (201, "made", "b")


def test_context_when_asked_for_then_it_continues_the_callers_trace(host: RunningHost) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    seen = host.get("/v1/context", headers={"traceparent": parent}).json()
    assert seen["trace_parent"].split("-")[1] == parent.split("-")[1]
    assert seen["trace_parent"].split("-")[2] != parent.split("-")[2]
    assert (seen["function_name"], seen["retry_count"]) == ("context_of", 0)
    host.wait_for(f"Id={seen['invocation_id']}", times=2)


def test_sync_function_when_run_then_on_a_thread_in_the_apps_folder_with_the_hosts_settings(host: RunningHost) -> None:
    seen = host.get("/v1/process").json()
    assert seen["thread"] is False
    assert Path(seen["folder"]) == APPS / "http"
    assert str(ROOT) not in seen["path"]
    assert seen["environment"]["AZURE_FUNCTIONS_ENVIRONMENT"] == "Development"
    assert seen["environment"]["WEBSITE_HOSTNAME"] == f"localhost:{host.client.base_url.port}"
    assert "PYTHONPATH" not in seen["environment"]


def test_logs_when_a_run_speaks_then_each_line_has_its_level_and_category(host: RunningHost) -> None:
    host.get("/v1/logs")
    host.wait_for("Warning Function.logs.User: from the run")
    host.wait_for("Information Function.logs.User: thread with id")
    host.wait_for("Information Worker.User: thread without id")
    host.wait_for("Information Host.Function.Console: from print")
    host.wait_for("Error Host.Function.Console: an error on stderr")
    assert "too fine to be seen" not in host.console


def test_admin_when_asked_for_the_state_then_running(host: RunningHost) -> None:
    assert host.get("/admin/host/status").json()["state"] == "Running"
    assert host.get("/admin/host/ping").content == b""


def test_admin_when_an_http_function_is_to_be_run_by_hand_then_202_and_a_line_in_the_log(host: RunningHost) -> None:
    assert host.client.post("/admin/functions/fails", json={"input": ""}).status_code == 202
    host.wait_for("Function 'fails' takes HTTP requests")


def test_body_when_larger_than_the_limit_then_500() -> None:
    with RunningHost("http", settings={"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": "10"}) as host:
        assert host.client.post("/v1/echo/x", content=b"0123456789").status_code == 200
        assert host.client.post("/v1/echo/x", content=b"0123456789a").status_code == 500
        host.wait_for("Request body too large. The max request body size is 10 bytes.")
