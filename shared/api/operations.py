"""The calls of the API, one entry each; a test holds them against the routes of function_app.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from shared import errors
from shared.api import asked, models, numbers
from shared.errors import AppError

_OF_A_BODY: tuple[type[AppError], ...] = (
    errors.InvalidJson,
    errors.PayloadTooLarge,
    errors.UnsupportedMediaType,
    errors.InvalidInput,
)
_OF_A_JOB: tuple[type[AppError], ...] = (errors.NotFound, errors.Conflict, *_OF_A_BODY)
_OF_INTAKE: tuple[type[AppError], ...] = (errors.NotFound, errors.KeyReused, errors.QueueFull, *_OF_A_BODY)


@dataclass(frozen=True)
class Operation:
    """One call: its function, its models in and out (None = a file), and the errors it can answer.

    Any call can answer internal_error, and one that needs a key 401 and database_unavailable besides. `hears` and
    `sends` name the headers that matter, beyond those of every call.
    """

    name: str
    method: str
    path: str
    summary: str
    answers: dict[int, type[BaseModel] | None]
    takes: type[BaseModel] | None = None
    needs_body: bool = True
    query: type[BaseModel] | None = None
    problems: tuple[type[AppError], ...] = ()
    needs_key: bool = True
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    hears: tuple[str, ...] = ()
    sends: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """What the call is about: the address's first word after the version."""
        return self.path.split("/")[2]


_JOB_ID = {"job_id": {"type": "integer", "minimum": 1, "maximum": 2**63 - 1, "description": "The job's number."}}
_TICKET_ID = {"ticket_id": {"type": "string", "pattern": "^T-[1-9][0-9]{0,17}$", "description": "The ticket's name."}}
_CUSTOMER_ID = {"customer_id": {"type": "string", "pattern": "^C-[0-9]{4,5}$", "description": "The customer's name."}}
_FILE_NAME = {"name": {"type": "string", "description": "The file's name."}}

OPERATIONS = (
    Operation(
        "accept_ticket",
        "post",
        "/v1/tickets",
        "Accept a ticket",
        {202: models.Accepted},
        takes=asked.NewTicket,
        problems=(errors.RateLimited, *_OF_INTAKE),
        hears=("Idempotency-Key", "traceparent"),
        sends={202: ("Location", "Idempotent-Replayed")},
    ),
    Operation(
        "list_tickets",
        "get",
        "/v1/tickets",
        "List tickets, newest first",
        {200: models.TicketPage},
        query=asked.TicketQuery,
        problems=(errors.InvalidInput,),
    ),
    Operation(
        "show_ticket",
        "get",
        "/v1/tickets/{ticket_id}",
        "One ticket",
        {200: models.Ticket},
        problems=(errors.NotFound,),
        parameters=_TICKET_ID,
    ),
    Operation(
        "similar_tickets",
        "get",
        "/v1/tickets/{ticket_id}/similar",
        "Tickets of the same workspace that are most like this one",
        {200: models.SimilarTickets},
        query=asked.SimilarQuery,
        problems=(errors.NotFound, errors.Conflict, errors.InvalidInput),
        parameters=_TICKET_ID,
    ),
    Operation(
        "list_jobs",
        "get",
        "/v1/jobs",
        "List jobs, newest first",
        {200: models.JobPage},
        query=asked.JobQuery,
        problems=(errors.InvalidInput,),
    ),
    Operation(
        "show_job",
        "get",
        "/v1/jobs/{job_id}",
        "One job: state, steps, history, result",
        {200: models.JobDetail},
        problems=(errors.NotFound,),
        parameters=_JOB_ID,
        hears=("Prefer",),
        sends={200: ("Retry-After",)},
    ),
    Operation(
        "cancel_job",
        "post",
        "/v1/jobs/{job_id}/cancel",
        "Cancel a job that no worker has yet, or ask the worker to stop",
        {200: models.JobDetail, 202: models.JobDetail},
        takes=asked.Nothing,
        needs_body=False,
        problems=_OF_A_JOB,
        parameters=_JOB_ID,
    ),
    Operation(
        "retry_job",
        "post",
        "/v1/jobs/{job_id}/retry",
        "Put a dead letter or a failed job back on the queue",
        {200: models.JobDetail},
        takes=asked.Nothing,
        needs_body=False,
        problems=_OF_A_JOB,
        parameters=_JOB_ID,
    ),
    Operation(
        "accept_job",
        "post",
        "/v1/jobs",
        "Accept a long job",
        {202: models.AcceptedJob},
        takes=asked.NewJob,
        problems=_OF_INTAKE,
        hears=("Idempotency-Key", "traceparent"),
        sends={202: ("Location", "Idempotent-Replayed")},
    ),
    Operation(
        "approve_job",
        "post",
        "/v1/jobs/{job_id}/approve",
        "Let a job go on that waits for approval",
        {200: models.JobDetail},
        takes=asked.Decision,
        problems=_OF_A_JOB,
        parameters=_JOB_ID,
    ),
    Operation(
        "reject_job",
        "post",
        "/v1/jobs/{job_id}/reject",
        "End a job that waits for approval",
        {200: models.JobDetail},
        takes=asked.Decision,
        problems=_OF_A_JOB,
        parameters=_JOB_ID,
    ),
    Operation(
        "discard_job",
        "post",
        "/v1/jobs/{job_id}/discard",
        "Throw a dead letter away",
        {200: models.JobDetail},
        takes=asked.Discard,
        problems=_OF_A_JOB,
        parameters=_JOB_ID,
    ),
    Operation(
        "retry_dead_letters",
        "post",
        "/v1/dead-letters/retry",
        "Put dead letters back on the queue by a filter",
        {200: models.Redriven},
        takes=asked.Redrive,
        needs_body=False,
        problems=_OF_A_BODY,
    ),
    Operation(
        "show_artifact",
        "get",
        "/v1/artifacts/{job_id}/{name}",
        "A file that a job made",
        {200: None, 304: None},
        query=asked.ArtifactQuery,
        problems=(errors.NotFound, errors.DatabaseUnavailable),
        needs_key=False,
        parameters=_JOB_ID | _FILE_NAME,
        hears=("If-None-Match",),
        sends={200: ("ETag",), 304: ("ETag",)},
    ),
    Operation(
        "put_customer",
        "put",
        "/v1/customers/{customer_id}",
        "Create or replace a customer",
        {200: models.Customer, 201: models.Customer},
        takes=asked.CustomerBody,
        problems=_OF_A_BODY,
        parameters=_CUSTOMER_ID,
    ),
    Operation("show_queue", "get", "/v1/queue", "The queue's numbers", {200: numbers.Queue}),
    Operation("health_live", "get", "/v1/health/live", "This process answers", {200: numbers.Live}, needs_key=False),
    Operation(
        "health_ready",
        "get",
        "/v1/health/ready",
        "Whether tickets can be accepted",
        {200: numbers.Ready, 503: numbers.Ready},
        needs_key=False,
    ),
)
