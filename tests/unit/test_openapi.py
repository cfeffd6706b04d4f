"""The OpenAPI document: whole, and true to what the functions answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from openapi_spec_validator import validate

from shared.api import openapi
from shared.api.examples import examples
from shared.errors import AppError, Busy, CallerError, QueueUnavailable

DOCUMENT = openapi.document()
METHODS = {"get", "put", "post", "delete", "patch"}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            assert method in METHODS
            yield method, path, operation


def parameters(operation: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of an operation, wherever they are described."""
    shared = DOCUMENT["components"]["parameters"]
    return [shared[item["$ref"].rpartition("/")[2]] if "$ref" in item else item for item in operation["parameters"]]


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
        described = {item["name"] for item in parameters(operation) if item["in"] == "path"}
        assert described == set(re.findall(r"\{(\w+)\}", path)), path
        assert all(item["required"] for item in parameters(operation) if item["in"] == "path")


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
        told = {item["name"]: item for item in parameters(DOCUMENT["paths"][path]["get"]) if item["in"] == "query"}
        assert set(told) == names
        assert not any(item.get("required") for item in told.values())
        assert (told["limit"]["schema"]["minimum"], told["limit"]["schema"]["maximum"]) == (1, 200)


def test_document_then_valid_by_the_specification() -> None:
    validate(DOCUMENT)


def test_fields_and_parameters_then_every_one_is_described() -> None:
    silent = [
        f"{model}.{name}"
        for model, schema in DOCUMENT["components"]["schemas"].items()
        for name, field in schema.get("properties", {}).items()
        if not field.get("description")
    ]
    silent += [model for model, schema in DOCUMENT["components"]["schemas"].items() if not schema.get("description")]
    silent += [
        f"{method} {path} {item['name']}"
        for method, path, operation in operations()
        for item in parameters(operation)
        if not item.get("description")
    ]
    silent += [name for name, header in DOCUMENT["components"]["headers"].items() if not header.get("description")]
    assert silent == []


def test_bodies_then_each_has_an_example_that_its_model_takes() -> None:
    for model, example in examples().items():
        assert type(example) is model
        model.model_validate_json(example.model_dump_json())
    contents = []
    for method, path, operation in operations():
        for answer in (operation.get("requestBody", {}), *operation["responses"].values()):
            contents += [((method, path), content) for content in answer.get("content", {}).values()]
    bare = {place for place, content in contents if not ({"example", "examples"} & set(content))}
    assert bare == {("get", "/v1/artifacts/{job_id}/{name}")}, "a file is whatever it is"


def test_errors_then_every_code_of_the_api_is_told_where_it_can_come() -> None:
    told: dict[str, set[str]] = {}
    for _, _, operation in operations():
        for status, answer in operation["responses"].items():
            for content in answer.get("content", {}).values():
                for code in content.get("examples", {}):
                    told.setdefault(code, set()).add(status)
    assert told == {code: {str(status)} for code, status in error_codes().items()}
    accept = DOCUMENT["paths"]["/v1/tickets"]["post"]["responses"]
    for status, codes in {
        "422": {"validation_error", "idempotency_key_reused"},
        "503": {"queue_full", "database_unavailable"},
    }.items():
        assert set(accept[status]["content"]["application/json"]["examples"]) == codes


def error_codes() -> dict[str, int]:
    """Of every error that a caller can be shown."""
    found, queue = {}, [AppError]
    while queue:
        kind = queue.pop()
        queue += kind.__subclasses__()
        if kind not in (CallerError, Busy, QueueUnavailable):
            found[kind.code] = kind.status
    return found


def test_headers_then_told_where_they_matter() -> None:
    def sent(path: str, method: str, status: str) -> set[str]:
        return set(DOCUMENT["paths"][path][method]["responses"][status]["headers"])

    def heard(path: str, method: str) -> set[str]:
        return {item["name"] for item in parameters(DOCUMENT["paths"][path][method]) if item["in"] == "header"}

    assert sent("/v1/tickets", "post", "202") >= {"Location", "Idempotent-Replayed", "X-Request-Id", "Server-Timing"}
    assert "Retry-After" in sent("/v1/jobs/{job_id}", "get", "200") & sent("/v1/tickets", "post", "429")
    assert "Idempotency-Key" in heard("/v1/tickets", "post") & heard("/v1/jobs", "post")
    assert "Prefer" in heard("/v1/jobs/{job_id}", "get")
