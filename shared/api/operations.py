"""The calls of the API, one entry each; a test holds them against the routes of function_app.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from shared.api import asked, models

_BODY_PROBLEMS = (400, 413, 415, 422)


@dataclass(frozen=True)
class Operation:
    """One call: its function, its models in and out (None = a file), and the problems it can answer.

    A call that needs a key can answer 401 and 503 besides.
    """

    name: str
    method: str
    path: str
    summary: str
    answers: dict[int, type[BaseModel] | None]
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
        takes=asked.NewTicket,
        problems=(404, 429, *_BODY_PROBLEMS),
    ),
    Operation(
        "list_tickets",
        "get",
        "/v1/tickets",
        "List tickets, newest first",
        {200: models.TicketPage},
        query=asked.TicketQuery,
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
        "similar_tickets",
        "get",
        "/v1/tickets/{ticket_id}/similar",
        "Tickets of the same workspace that are most like this one",
        {200: models.SimilarTickets},
        query=asked.SimilarQuery,
        problems=(404, 409, 422),
        parameters=_TICKET_ID,
    ),
    Operation(
        "list_jobs",
        "get",
        "/v1/jobs",
        "List jobs, newest first",
        {200: models.JobPage},
        query=asked.JobQuery,
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
        takes=asked.NewJob,
        problems=(404, *_BODY_PROBLEMS),
    ),
    Operation(
        "approve_job",
        "post",
        "/v1/jobs/{job_id}/approve",
        "Let a job go on that waits for approval",
        {200: models.JobDetail},
        takes=asked.Decision,
        problems=(404, 409, *_BODY_PROBLEMS),
        parameters=_JOB_ID,
    ),
    Operation(
        "reject_job",
        "post",
        "/v1/jobs/{job_id}/reject",
        "End a job that waits for approval",
        {200: models.JobDetail},
        takes=asked.Decision,
        problems=(404, 409, *_BODY_PROBLEMS),
        parameters=_JOB_ID,
    ),
    Operation(
        "discard_job",
        "post",
        "/v1/jobs/{job_id}/discard",
        "Throw a dead letter away",
        {200: models.JobDetail},
        takes=asked.Discard,
        problems=(404, 409, *_BODY_PROBLEMS),
        parameters=_JOB_ID,
    ),
    Operation(
        "retry_dead_letters",
        "post",
        "/v1/dead-letters/retry",
        "Put dead letters back on the queue by a filter",
        {200: models.Redriven},
        takes=asked.Redrive,
        problems=_BODY_PROBLEMS,
    ),
    Operation(
        "show_artifact",
        "get",
        "/v1/artifacts/{job_id}/{name}",
        "A file that a job made",
        {200: None, 304: None},
        query=asked.ArtifactQuery,
        problems=(404, 503),
        needs_key=False,
        parameters={**_JOB_ID, "name": {"type": "string"}},
    ),
    Operation(
        "put_customer",
        "put",
        "/v1/customers/{customer_id}",
        "Create or replace a customer",
        {200: models.Customer, 201: models.Customer},
        takes=asked.CustomerBody,
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
