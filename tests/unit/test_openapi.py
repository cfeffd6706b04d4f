"""The OpenAPI document: whole, and true to what the functions answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from shared.api import openapi

DOCUMENT = openapi.document()
METHODS = {"get", "put", "post", "delete", "patch"}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            assert method in METHODS
            yield method, path, operation


def references(value: object) -> Iterator[str]:
    match value:
        case dict():
            for key, inner in value.items():
                if key == "$ref":
                    yield inner
                else:
                    yield from references(inner)
        case list():
            for inner in value:
                yield from references(inner)


def test_document_then_is_openapi_31_in_json() -> None:
    assert json.loads(openapi.document_text()) == DOCUMENT
    assert DOCUMENT["openapi"] == "3.1.0"
    assert set(DOCUMENT["info"]) >= {"title", "version"}


def test_references_then_all_lead_somewhere() -> None:
    found = set(references(DOCUMENT))
    assert found
    for reference in found:
        target: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            assert step in target, reference
            target = target[step]


def test_operation_ids_then_unique_and_plain() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in ids), ids


def test_path_parameters_then_exactly_those_of_the_path() -> None:
    for _, path, operation in operations():
        described = {item["name"] for item in operation["parameters"] if item["in"] == "path"}
        assert described == set(re.findall(r"\{(\w+)\}", path)), path
        assert all(item["required"] for item in operation["parameters"] if item["in"] == "path")


def test_bodies_then_described_where_one_is_needed() -> None:
    with_body = {(method, path) for method, path, operation in operations() if "requestBody" in operation}
    assert {("post", "/v1/tickets"), ("put", "/v1/customers/{customer_id}")} <= with_body
    assert all(method != "get" for method, _ in with_body)


def test_answers_then_every_call_tells_its_success_and_keyed_ones_401_and_503() -> None:
    for method, path, operation in operations():
        statuses = set(operation["responses"])
        assert any(status.startswith("2") for status in statuses), (method, path)
        if operation["security"]:
            assert {"401", "503"} <= statuses, (method, path)
        for status, answer in operation["responses"].items():
            assert answer["description"]
            if status[0] in "45" and status != "401" and operation["security"]:
                assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorBody"}


def test_accepting_a_ticket_then_202_and_all_its_refusals_are_told() -> None:
    operation = DOCUMENT["paths"]["/v1/tickets"]["post"]
    assert set(operation["responses"]) >= {"202", "400", "401", "404", "413", "415", "422", "503"}
    new = DOCUMENT["components"]["schemas"]["NewTicket"]
    assert new["additionalProperties"] is False
    assert set(new["required"]) == {"customer_id", "subject"}
    assert new["properties"]["subject"]["maxLength"] == 120
    assert new["properties"]["body"]["maxLength"] == 5000


def test_lists_then_their_parameters_are_told_with_limits_and_optional() -> None:
    for path, names in {
        "/v1/tickets": {"ai_state", "team", "customer_id", "workspace_id", "limit", "after"},
        "/v1/jobs": {"state", "kind", "workspace_id", "error_code", "limit", "after"},
    }.items():
        parameters = {item["name"]: item for item in DOCUMENT["paths"][path]["get"]["parameters"]}
        assert set(parameters) == names
        assert all(item["in"] == "query" and not item.get("required") for item in parameters.values())
        assert parameters["limit"]["schema"]["maximum"] == 200
        assert parameters["limit"]["schema"]["minimum"] == 1
