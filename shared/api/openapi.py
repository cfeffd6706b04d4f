"""The API as an OpenAPI 3.1 document, made from the models that validate and shape it."""

from __future__ import annotations

import functools
import json
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from shared.api import models
from shared.api.operations import OPERATIONS, Operation

TITLE = "Larkfield tickets"
VERSION = "1.0"
REFERENCE = "#/components/schemas/{model}"

_PROBLEMS = {
    400: "invalid_json",
    401: "The function key is missing or wrong (empty body).",
    404: "not_found",
    409: "conflict",
    413: "payload_too_large",
    415: "unsupported_media_type",
    422: "validation_error",
    429: "rate_limited; `Retry-After` says when to come back.",
    503: "database_unavailable, queue_full; `Retry-After` says when to come back.",
}


@functools.cache
def document_text() -> str:
    """The document as JSON text."""
    return json.dumps(document(), ensure_ascii=False)


def document() -> dict[str, Any]:
    """The document as a dictionary."""
    shown = {model for operation in OPERATIONS for model in operation.answers.values() if model} | {models.ErrorBody}
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
            "description": "Tickets are accepted at once; AI work is a job.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-functions-key"}},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    answers = {str(status): _answer(status, model, operation.summary) for status, model in operation.answers.items()}
    problems = {*operation.problems, *((401, 503) if operation.needs_key else ())}
    answers |= {str(status): _problem(status) for status in sorted(problems) if str(status) not in answers}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": _parameters(operation),
        "responses": answers,
        "security": [{"key": []}] if operation.needs_key else [],
    }
    if operation.takes is not None:
        described["requestBody"] = {"required": True, **_content(operation.takes)}
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    path = [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in operation.parameters.items()
    ]
    properties = operation.query.model_json_schema()["properties"] if operation.query else {}
    return path + [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]


def _answer(status: int, model: type[BaseModel] | None, summary: str) -> dict[str, Any]:
    if model is not None:
        return _content(model, summary)
    if status == 304:
        return {"description": "The caller has this version already."}
    return {"description": summary, "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}


def _content(model: type[BaseModel], description: str | None = None) -> dict[str, Any]:
    schema = {"$ref": REFERENCE.format(model=model.__name__)}
    content = {"content": {"application/json": {"schema": schema}}}
    return {"description": description, **content} if description else content


def _problem(status: int) -> dict[str, Any]:
    if status == 401:
        return {"description": _PROBLEMS[status]}
    return _content(models.ErrorBody, _PROBLEMS[status])


def _sorted(found: set[type[BaseModel]]) -> list[type[BaseModel]]:
    return sorted(found, key=lambda model: model.__name__)
