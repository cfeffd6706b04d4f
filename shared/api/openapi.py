"""The API as an OpenAPI 3.1 document, made from the models that validate and shape it."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from shared.api import headers
from shared.api.examples import error, examples
from shared.api.operations import OPERATIONS, Operation
from shared.api.problems import ErrorBody
from shared.errors import AppError, Busy, DatabaseUnavailable

TITLE = "Larkfield tickets"
VERSION = "1.0"
REFERENCE = "#/components/schemas/{model}"

_ABOUT = """A help desk's tickets are accepted at once; the AI work on them is a job in the background.

Times are RFC 3339 in UTC. Every error has the same body, and a code that programs can rely on. Where a function key is
wanted, send it as `x-functions-key`; on a machine of your own none is."""
_TAGS = {
    "tickets": "What customers write, and what the AI makes of it.",
    "jobs": "Work in the background: its way, and what people decide about it.",
    "dead-letters": "What was given up after the last attempt.",
    "artifacts": "The files that jobs make.",
    "customers": "Who writes.",
    "queue": "How things are.",
    "health": "For probes.",
}
_NO_KEY = {"description": "The function key is missing or wrong. The body is empty."}


@functools.cache
def document_text() -> str:
    """The document as JSON text."""
    return json.dumps(document(), ensure_ascii=False)


def document() -> dict[str, Any]:
    """The document as a dictionary."""
    shown = {model for operation in OPERATIONS for model in operation.answers.values() if model} | {ErrorBody}
    taken = {operation.takes for operation in OPERATIONS if operation.takes}
    _, schemas = models_json_schema(
        [
            *((model, "serialization") for model in _sorted(shown)),
            *((model, "validation") for model in _sorted(taken)),
        ],
        ref_template=REFERENCE,
    )
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "version": VERSION,
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "Where this document comes from."}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "headers": headers.SENT,
            "parameters": {name: {"name": name, "in": "header", **heard} for name, heard in headers.HEARD.items()},
            "securitySchemes": {
                "key": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "x-functions-key",
                    "description": "The function key.",
                }
            },
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    answers = {str(status): _answer(operation, status, model) for status, model in operation.answers.items()}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": _parameters(operation),
        "responses": answers | _problems(operation, set(answers)),
        "security": [{"key": []}] if operation.needs_key else [],
    }
    if operation.takes is not None:
        described["requestBody"] = {"required": operation.needs_body, **_content(operation.takes)}
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    path = [_parameter(name, "path", schema) | {"required": True} for name, schema in operation.parameters.items()]
    properties = operation.query.model_json_schema()["properties"] if operation.query else {}
    query = [_parameter(name, "query", schema) for name, schema in properties.items()]
    heard = [{"$ref": f"#/components/parameters/{name}"} for name in (*operation.hears, "X-Request-Id")]
    return path + query + heard


def _parameter(name: str, place: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter that is not there is null in our models, but null cannot be sent in an address."""
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "description")}
    if "anyOf" in schema:
        [only] = [each for each in schema["anyOf"] if each != {"type": "null"}]
        rest = only | {key: value for key, value in rest.items() if key != "default"}
        rest.pop("description", None)
    return {"name": name, "in": place, "description": schema["description"], "schema": rest}


def _answer(operation: Operation, status: int, model: type[BaseModel] | None) -> dict[str, Any]:
    sent = _headers(*operation.sends.get(status, ()))
    if model is not None:
        return {"description": operation.summary, **sent, **_content(model)}
    if status == 304:
        return {"description": "The caller has this version already.", **sent}
    file = {"schema": {"type": "string", "format": "binary"}}
    content = {"application/octet-stream": file, "*/*": file}  # whatever it is; generators know the first only
    return {"description": operation.summary, **sent, "content": content}


def _problems(operation: Operation, answered: set[str]) -> dict[str, Any]:
    """By status, with every code that it can mean; but for those of a status with an answer of its own."""
    found = {AppError, *operation.problems, *((DatabaseUnavailable,) if operation.needs_key else ())}
    by_status: dict[str, list[type[AppError]]] = {}
    for kind in sorted(found, key=lambda kind: (kind.status, kind.code)):
        by_status.setdefault(str(kind.status), []).append(kind)
    told = {status: _problem(kinds) for status, kinds in by_status.items() if status not in answered}
    return dict(sorted((told | ({"401": _NO_KEY} if operation.needs_key else {})).items()))


def _problem(kinds: list[type[AppError]]) -> dict[str, Any]:
    sent = _headers("Retry-After") if issubclass(kinds[0], Busy) else _headers()
    shown = {kind.code: {"value": error(kind.code).model_dump(mode="json", exclude_none=True)} for kind in kinds}
    content = {"schema": {"$ref": REFERENCE.format(model=ErrorBody.__name__)}, "examples": shown}
    return {"description": ", ".join(f"`{code}`" for code in shown), **sent, "content": {"application/json": content}}


def _headers(*names: str) -> dict[str, Any]:
    return {"headers": {name: {"$ref": f"#/components/headers/{name}"} for name in (*headers.ALWAYS, *names)}}


def _content(model: type[BaseModel]) -> dict[str, Any]:
    example = examples()[model].model_dump(mode="json")
    schema = {"$ref": REFERENCE.format(model=model.__name__)}
    return {"content": {"application/json": {"schema": schema, "example": example}}}


def _sorted(found: Iterable[type[BaseModel]]) -> list[type[BaseModel]]:
    return sorted(found, key=lambda model: model.__name__)
