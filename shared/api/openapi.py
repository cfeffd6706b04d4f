"""The API as an OpenAPI 3.1 document, made from the models that validate and shape it."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from shared.api import models

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
_BODY_PROBLEMS = (400, 413, 415, 422)


@dataclass(frozen=True)
class Operation:
    """One call: its function, its models in and out, and the problems it can answer besides 401 and 503."""

    name: str
    method: str
    path: str
    summary: str
    answers: dict[int, type[BaseModel]]
    takes: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    problems: tuple[int, ...] = ()
    needs_key: bool = True
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)


_JOB_ID = {"job_id": {"type": "integer", "minimum": 1}}
_TICKET_ID = {"ticket_id": {"type": "string", "pattern": "^T-[1-9][0-9]*$"}}
_CUSTOMER_ID = {"customer_id": {"type": "string", "pattern": "^C-[0-9]{4,5}$"}}

OPERATIONS = (
    Operation(
        "accept_ticket",
        "post",
        "/v1/tickets",
        "Accept a ticket",
        {202: models.Accepted},
        takes=models.NewTicket,
        problems=(404, 429, *_BODY_PROBLEMS),
    ),
    Operation(
        "list_tickets",
        "get",
        "/v1/tickets",
        "List tickets, newest first",
        {200: models.TicketPage},
        query=models.TicketQuery,
        problems=(422,),
    ),
    Operation(
        "show_ticket",
        "get",
        "/v1/tickets/{ticket_id}",
        "One ticket",
        {200: models.Ticket},
        problems=(404,),
        parameters=_TICKET_ID,
    ),
    Operation(
        "list_jobs",
        "get",
        "/v1/jobs",
        "List jobs, newest first",
        {200: models.JobPage},
        query=models.JobQuery,
        problems=(422,),
    ),
    Operation(
        "show_job",
        "get",
        "/v1/jobs/{job_id}",
        "One job: state, steps, history, result",
        {200: models.JobDetail},
        problems=(404,),
        parameters=_JOB_ID,
    ),
    Operation(
        "cancel_job",
        "post",
        "/v1/jobs/{job_id}/cancel",
        "Cancel a job that no worker has yet, or ask the worker to stop",
        {200: models.JobDetail, 202: models.JobDetail},
        problems=(404, 409, *_BODY_PROBLEMS),
        parameters=_JOB_ID,
    ),
    Operation(
        "retry_job",
        "post",
        "/v1/jobs/{job_id}/retry",
        "Put a dead letter or a failed job back on the queue",
        {200: models.JobDetail},
        problems=(404, 409, *_BODY_PROBLEMS),
        parameters=_JOB_ID,
    ),
    Operation(
        "accept_job",
        "post",
        "/v1/jobs",
        "Accept a long job",
        {202: models.AcceptedJob},
        takes=models.NewJob,
        problems=(404, *_BODY_PROBLEMS),
    ),
    Operation(
        "approve_job",
        "post",
        "/v1/jobs/{job_id}/approve",
        "Let a job go on that waits for approval",
        {200: models.JobDetail},
        takes=models.Decision,
        problems=(404, 409, *_BODY_PROBLEMS),
        parameters=_JOB_ID,
    ),
    Operation(
        "reject_job",
        "post",
        "/v1/jobs/{job_id}/reject",
        "End a job that waits for approval",
        {200: models.JobDetail},
        takes=models.Decision,
        problems=(404, 409, *_BODY_PROBLEMS),
        parameters=_JOB_ID,
    ),
    Operation(
        "discard_job",
        "post",
        "/v1/jobs/{job_id}/discard",
        "Throw a dead letter away",
        {200: models.JobDetail},
        takes=models.Discard,
        problems=(404, 409, *_BODY_PROBLEMS),
        parameters=_JOB_ID,
    ),
    Operation(
        "retry_dead_letters",
        "post",
        "/v1/dead-letters/retry",
        "Put dead letters back on the queue by a filter",
        {200: models.Redriven},
        takes=models.Redrive,
        problems=_BODY_PROBLEMS,
    ),
    Operation(
        "put_customer",
        "put",
        "/v1/customers/{customer_id}",
        "Create or replace a customer",
        {200: models.Customer, 201: models.Customer},
        takes=models.CustomerBody,
        problems=_BODY_PROBLEMS,
        parameters=_CUSTOMER_ID,
    ),
    Operation("show_queue", "get", "/v1/queue", "The queue's numbers", {200: models.Queue}),
    Operation("health_live", "get", "/v1/health/live", "This process answers", {200: models.Live}, needs_key=False),
    Operation(
        "health_ready",
        "get",
        "/v1/health/ready",
        "Whether tickets can be accepted",
        {200: models.Ready, 503: models.Ready},
        needs_key=False,
    ),
)


@functools.cache
def document_text() -> str:
    """The document as JSON text."""
    return json.dumps(document(), ensure_ascii=False)


def document() -> dict[str, Any]:
    """The document as a dictionary."""
    shown = {model for operation in OPERATIONS for model in operation.answers.values()} | {models.ErrorBody}
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
    answers = {str(status): _content(model, operation.summary) for status, model in operation.answers.items()}
    if operation.needs_key:
        problems = sorted({401, 503, *operation.problems})
        answers |= {str(status): _problem(status) for status in problems if str(status) not in answers}
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
