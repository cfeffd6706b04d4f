"""What reaches an HTTP function and what comes back (functions-host C3, C6, D3, D5), asked of a running host."""

import json
from pathlib import Path

import httpx
import pytest

from tests.host.running_host import APPS, ROOT, RunningHost


def test_request_when_sent_whole_then_the_function_sees_it(http_host: RunningHost) -> None:
    seen = http_host.client.post("/v1/echo/a/b%20c?x=1&y=2&X=3&empty=", content=b"abc", headers={"X-One": "1"}).json()
    assert seen["method"] == "POST"
    assert seen["url"] == f"http://127.0.0.1:{http_host.client.base_url.port}/v1/echo/a/b%20c?x=1&y=2&X=3&empty="
    assert seen["params"] == {"x": "1,3", "y": "2"}
    assert seen["route"] == {"rest": "a/b c"}
    assert seen["headers"]["x-one"] == "1"
    assert seen["body"] == "abc"


def test_request_when_its_body_is_chunked_then_it_arrives_empty(http_host: RunningHost) -> None:
    assert http_host.client.post("/v1/echo/x", content=iter([b"abc"])).json()["body"] == ""


def test_request_when_its_slash_is_encoded_then_it_stays_encoded(http_host: RunningHost) -> None:
    assert http_host.get("/v1/items/a%2Fb").json()["route"] == {"id": "a%2Fb"}


def test_function_when_it_raises_then_500_without_a_body_and_the_reason_in_the_log(http_host: RunningHost) -> None:
    response = http_host.get("/v1/fails")
    assert (response.status_code, response.content) == (500, b"")
    http_host.wait_for("ValueError: a secret of the app")


@pytest.mark.parametrize("kind", ["nothing", "dict", "umlaut", "full_204"])
def test_function_when_it_returns_what_cannot_be_sent_then_500(http_host: RunningHost, kind: str) -> None:
    response = http_host.get(f"/v1/odd/{kind}")
    assert (response.status_code, response.content) == (500, b"")


def test_function_when_it_answers_204_then_204(http_host: RunningHost) -> None:
    assert http_host.get("/v1/odd/empty_204").status_code == 204


def test_function_when_it_sets_a_cookie_then_it_is_sent(http_host: RunningHost) -> None:
    assert http_host.get("/v1/odd/cookie").headers["set-cookie"].startswith("a=1;")


def test_function_when_it_returns_text_then_the_host_reads_it_as_json_if_it_can(http_host: RunningHost) -> None:
    def send(text: str) -> httpx.Response:
        return http_host.client.post("/v1/text", content=text)

    assert send("plain").text == "plain"
    assert send('{"a":1}').text == '{\n  "a": 1\n}'
    described = send(json.dumps({"body": "made", "status": 201, "headers": {"X-A": "b"}}))
    assert (described.status_code, described.text, described.headers["x-a"]) == (201, "made", "b")


def test_context_when_asked_for_then_it_continues_the_callers_trace(http_host: RunningHost) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    seen = http_host.get("/v1/context", headers={"traceparent": parent}).json()
    assert seen["trace_parent"].split("-")[1] == parent.split("-")[1]
    assert seen["trace_parent"].split("-")[2] != parent.split("-")[2]
    assert (seen["function_name"], seen["retry_count"]) == ("context_of", 0)
    http_host.wait_for(f"Id={seen['invocation_id']}", times=2)


def test_sync_function_when_run_then_on_a_thread_in_the_apps_folder_with_the_hosts_settings(
    http_host: RunningHost,
) -> None:
    seen = http_host.get("/v1/process").json()
    assert seen["thread"] is False
    assert Path(seen["folder"]) == APPS / "http"
    assert str(ROOT) not in seen["path"]
    assert seen["environment"]["AZURE_FUNCTIONS_ENVIRONMENT"] == "Development"
    assert seen["environment"]["WEBSITE_HOSTNAME"] == f"localhost:{http_host.client.base_url.port}"
    assert "PYTHONPATH" not in seen["environment"]


def test_logs_when_a_run_speaks_then_each_line_has_its_level_and_category(http_host: RunningHost) -> None:
    http_host.get("/v1/logs")
    http_host.wait_for("Warning Function.logs.User: from the run")
    http_host.wait_for("Information Function.logs.User: thread with id")
    http_host.wait_for("Information Worker.User: thread without id")
    http_host.wait_for("Information Host.Function.Console: from print")
    http_host.wait_for("Error Host.Function.Console: an error on stderr")
    assert "too fine to be seen" not in http_host.console


def test_admin_when_asked_for_the_state_then_running(http_host: RunningHost) -> None:
    assert http_host.get("/admin/host/status").json()["state"] == "Running"
    assert http_host.get("/admin/host/ping").content == b""


def test_admin_when_an_http_function_is_to_be_run_by_hand_then_202_and_a_line_in_the_log(
    http_host: RunningHost,
) -> None:
    assert http_host.client.post("/admin/functions/fails", json={"input": ""}).status_code == 202
    http_host.wait_for("Function 'fails' takes HTTP requests")


def test_body_when_larger_than_the_limit_then_500(http_host: RunningHost) -> None:
    assert http_host.client.post("/v1/echo/x", content=b"x" * 1000).status_code == 200
    assert http_host.client.post("/v1/echo/x", content=b"x" * 1001).status_code == 500
    http_host.wait_for("Request body too large. The max request body size is 1000 bytes.")
