"""The host's own rules for functions (functions-host A1, C1, D8, E)."""

from typing import Any

import pytest

from simulator.host.functions import HttpTrigger, InvalidFunctions, QueueTrigger, read_functions
from simulator.host.settings import Settings
from simulator.host.web.router import Router

NO_SETTINGS = Settings({})


def http(name: str, route: str, *methods: str) -> dict[str, Any]:
    trigger: dict[str, Any] = {
        "type": "httpTrigger",
        "name": "req",
        "direction": "IN",
        "route": route,
        "authLevel": "ANONYMOUS",
    }
    if methods:
        trigger["methods"] = list(methods)
    return {"name": name, "has_retry_policy": False, "bindings": [trigger, {"type": "http", "name": "$return"}]}


def queue(name: str, *, has_retry_policy: bool = False) -> dict[str, Any]:
    trigger = {"type": "queueTrigger", "name": "msg", "queueName": "%Q%", "connection": "C", "dataType": "BINARY"}
    return {"name": name, "has_retry_policy": has_retry_policy, "bindings": [trigger]}


def test_functions_when_read_then_they_are_in_order_of_name_without_regard_to_case() -> None:
    found = read_functions([http("b", "b"), queue("C"), http("A", "a", "GET")], NO_SETTINGS, None)
    assert [function.name for function in found] == ["A", "b", "C"]
    assert isinstance(found[0].trigger, HttpTrigger)
    assert found[0].trigger.methods == frozenset({"GET"})
    assert isinstance(found[2].trigger, QueueTrigger)
    assert found[2].trigger.is_binary


@pytest.mark.parametrize(
    ("descriptions", "complaint"),
    [
        ([http("f", "administrators/{id}")], "built in routes"),
        ([http("f", "/Runtime/x")], "built in routes"),
        ([http("f", "same"), http("g", "SAME/")], "'g' function is in error: The route specified conflicts"),
        ([http("f", "a", "GET"), http("g", "a")], "defined by function 'f'"),
        ([http("host", "a")], "a name is a letter"),
        ([http("1st", "a")], "a name is a letter"),
        ([queue("f", has_retry_policy=True)], "retry policies"),
    ],
)
def test_functions_when_the_host_would_refuse_one_then_all_are_refused(
    descriptions: list[dict[str, Any]], complaint: str
) -> None:
    with pytest.raises(InvalidFunctions, match=complaint):
        read_functions(descriptions, NO_SETTINGS, None)


def test_functions_when_methods_differ_then_one_route_serves_both() -> None:
    found = read_functions([http("f", "a", "GET"), http("g", "a", "POST")], NO_SETTINGS, None)
    match = Router(found, "").find("POST", "/a")
    assert match is not None
    assert match.function.name == "g"


def test_functions_when_only_some_are_wanted_then_the_others_are_left_out() -> None:
    found = read_functions([http("F", "a"), http("g", "admin")], NO_SETTINGS, frozenset({"f"}))
    assert [function.name for function in found] == ["F"]
    with pytest.raises(InvalidFunctions, match="'h' function is in error: the app has no such function"):
        read_functions([http("F", "a")], NO_SETTINGS, frozenset({"f", "h"}))


@pytest.mark.parametrize(("value", "is_disabled"), [("1", True), ("TRUE", True), ("0", False), ("", False)])
def test_function_when_its_switch_is_set_then_it_is_disabled(value: str, is_disabled: bool) -> None:
    [function] = read_functions([http("f", "a")], Settings({"AzureWebJobs.F.Disabled": value}), None)
    assert function.is_disabled is is_disabled


def test_router_when_a_route_is_malformed_then_the_function_is_named() -> None:
    found = read_functions([http("f", "{a?}/b")], NO_SETTINGS, None)
    with pytest.raises(InvalidFunctions, match="The 'f' function is in error: the route"):
        Router(found, "api")
