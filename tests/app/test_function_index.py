"""What the host is told about the functions, and what the API's document says about the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

from shared.api import openapi
from tests.front import Front, functions, routes, trigger_of

ROOT = Path(__file__).parents[2]
VALUES = json.loads((ROOT / "local.settings.json.example").read_text(encoding="utf-8"))["Values"]
HOST = json.loads((ROOT / "host.json").read_text(encoding="utf-8"))

# A browser opens these without a header: health checks, the document, files under their own token, static pages.
OPEN = re.compile(r"v1/(health/(live|ready)|openapi\.json|artifacts/\{job_id\}/\{name\})|docs.*|dashboard.*|/")
CATCH_ALL = "{*path}"
UNDESCRIBED = re.compile(r"v1/openapi\.json|docs.*|dashboard.*|/")


def test_routes_then_every_one_needs_a_key_but_those_a_browser_opens() -> None:
    levels = {route.template: route.auth_level for route in routes()}
    assert {template for template, level in levels.items() if level == "anonymous"} == {
        template for template in levels if OPEN.fullmatch(template)
    }
    assert set(levels.values()) == {"anonymous", "function"}


def test_routes_and_document_then_describe_the_same_calls() -> None:
    served = {
        (method.lower(), f"/{route.template}")
        for route in routes()
        if route.template != CATCH_ALL and not UNDESCRIBED.fullmatch(route.template)
        for method in route.methods
    }
    described = {(method, path) for path, item in openapi.document()["paths"].items() for method in item}
    assert served == described


def test_document_then_asks_for_a_key_where_the_route_does() -> None:
    for route in routes():
        for method in route.methods:
            operation = openapi.document()["paths"].get(f"/{route.template}", {}).get(method.lower())
            if operation is not None:
                assert bool(operation["security"]) == (route.auth_level == "function"), route


def test_catch_all_then_takes_every_method_and_its_name_sorts_last() -> None:
    [last] = [route for route in routes() if route.template == CATCH_ALL]
    assert last.methods == frozenset()
    names = [str(function.get_function_name()) for function in functions()]
    assert max(names, key=str.lower) == last.name


def test_routes_then_none_is_hidden_by_one_that_the_host_tries_before() -> None:
    for route in routes():
        address = re.sub(r"\{\*?\w+\}", "x", route.template)
        for earlier in routes()[: routes().index(route)]:
            both = not earlier.methods or not route.methods or earlier.methods & route.methods
            assert not (both and earlier.pattern.fullmatch(address)), (earlier.template, route.template)


def test_settings_named_by_triggers_then_in_the_example() -> None:
    named = set()
    for function in functions():
        trigger = trigger_of(function)
        named |= set(re.findall(r"%(\w+)%", json.dumps(trigger, default=str)))
        if "connection" in trigger:
            named.add(trigger["connection"])
    assert named >= {"TICKET_QUEUE", "RELAY_SCHEDULE", "JobsQueue"}
    assert named - set(VALUES) == set()


def test_queue_triggers_then_none_drains_a_poison_queue() -> None:
    queues = [trigger_of(function)["queueName"] for function in functions() if "queueName" in trigger_of(function)]
    assert queues
    for queue in queues:
        assert not VALUES[queue.strip("%")].endswith("-poison")


def test_triggers_then_timers_and_queues_never_write_a_name_or_schedule_into_the_code() -> None:
    for function in functions():
        trigger = trigger_of(function)
        for key in ("queueName", "schedule"):
            assert re.fullmatch(r"%\w+%", trigger.get(key, "%X%")), function.get_function_name()


def test_host_then_paths_are_as_written_and_messages_are_base64() -> None:
    extensions = HOST["extensions"]
    assert extensions["http"]["routePrefix"] == ""
    assert (extensions["queues"]["messageEncoding"], extensions["queues"]["maxDequeueCount"]) == ("base64", 5)


async def test_document_when_asked_for_then_served_as_json(front: Front) -> None:
    answer = await front.get("/v1/openapi.json")
    assert (answer.status, answer.json()) == (200, openapi.document())
    assert answer.headers["content-type"].startswith("application/json")
