"""What clients send and get: the models that validate requests, shape answers and make the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, StringConstraints

from shared.jobs.states import State
from shared.names import time_text

Team = Literal["billing", "login", "shipping", "account", "other"]
Channel = Literal["email", "web_form", "chat", "phone"]


def _storable(text: str) -> str:
    """Postgres keeps UTF-8 without NUL; half a surrogate pair is legal in JSON and in Python, but not in UTF-8."""
    if "\x00" in text:
        raise ValueError("must not contain the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not contain half of a surrogate pair") from None
    return text


Text = Annotated[str, AfterValidator(_storable)]
Time = Annotated[datetime, PlainSerializer(time_text, return_type=str, when_used="json")]
CustomerId = Annotated[str, StringConstraints(pattern=r"^C-[0-9]{4,5}$"), Field(examples=["C-0022"])]
WorkspaceId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,64}$"), Field(examples=["team_42"])]


class Sent(BaseModel):
    """A request's body: unknown fields and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Shown(BaseModel):
    """An answer's body."""

    model_config = ConfigDict(frozen=True)


class NewTicket(Sent):
    """A ticket as a customer writes it. `subject` is trimmed; lengths are code points."""

    customer_id: CustomerId
    subject: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=120),
        AfterValidator(_storable),
    ] = Field(examples=["Charged twice"])
    body: Annotated[Text, Field(max_length=5000)] = Field(default="", examples=["Two payments for one order."])
    channel: Channel = "web_form"


class NewJob(Sent):
    """Work that a workspace asks for. `input` depends on the kind; `timeout_seconds` is of running time."""

    task: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500), AfterValidator(_storable)
    ] = Field(examples=["Generate weekly support report"])
    workspace_id: WorkspaceId
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,64}$")] = "support_report"
    input: dict[str, Any] = Field(default_factory=dict)
    require_approval: bool = False
    webhook_url: Annotated[Text, Field(max_length=2048)] | None = None
    timeout_seconds: int = Field(default=600, ge=30, le=3600)


class Decision(Sent):
    """Who decides, and why."""

    decided_by: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(_storable)
    ]
    comment: Annotated[Text, Field(max_length=2000)] | None = None


class Discard(Sent):
    """Who throws the dead letter away."""

    discarded_by: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(_storable)
    ]


class Redrive(Sent):
    """Which dead letters (or failed jobs) to put back on the queue, oldest first."""

    state: Literal["dead_letter", "failed"] = "dead_letter"
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,64}$")] | None = None
    error_code: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,64}$")] | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class Redriven(Shown):
    retried: int
    remaining: int


class CustomerBody(Sent):
    """A customer; its workspace exists as soon as a customer names it."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
        AfterValidator(_storable),
    ]
    workspace_id: WorkspaceId


class Customer(Shown):
    customer_id: CustomerId
    name: str
    workspace_id: WorkspaceId


class AcceptedJob(Shown):
    """The job is queued; follow `status_url`."""

    job_id: int = Field(examples=[1])
    state: State
    status_url: str = Field(examples=["/v1/jobs/1"])
    queued_ahead: int = Field(description="Queued jobs of the same kind before this one, exact to 1,000.")
    estimated_wait_seconds: float | None = Field(
        description="Seconds until the job starts; 0 when it can start now, null when nothing is known."
    )


class Accepted(AcceptedJob):
    """The ticket is saved and its AI work is queued; follow `status_url`."""

    ticket_id: str = Field(examples=["T-500001"])


class Ticket(Shown):
    ticket_id: str
    customer_id: str
    workspace_id: str
    subject: str
    body: str
    channel: Channel
    created_at: Time
    job_id: int | None
    ai_state: State | None = Field(description="The state of the ticket's job.")
    team: Team | None
    priority: int | None
    draft_reply: str | None


class TicketPage(Shown):
    items: list[Ticket]
    next: str | None = Field(description="Send it as `after` for the next page; null on the last one.")


class JobError(Shown):
    """Why a run did not succeed."""

    code: str
    message: str
    at: Time
    attempt: int


class Step(Shown):
    name: str
    state: Literal["pending", "running", "succeeded", "failed"]
    started_at: Time | None = None
    finished_at: Time | None = None
    detail: str | None = None


class PastRun(Shown):
    """One run; `outcome` is the state it led to, or for `queued` the reason why it went back."""

    run: int
    attempt: int
    started_at: Time
    ended_at: Time | None
    outcome: str | None
    error: JobError | None


class Approval(Shown):
    """The newest question put to people."""

    state: Literal["waiting", "approved", "rejected", "expired", "cancelled"]
    decided_by: str | None
    decided_at: Time | None
    comment: str | None
    expires_at: Time


class ArtifactLink(Shown):
    name: str
    url: str = Field(description="Opens in a browser; the token in it is the key to this file.")
    content_type: str
    size: int
    sha256: str


class Webhook(Shown):
    """The newest event's delivery."""

    state: Literal["pending", "delivered", "dead_letter"]
    attempts: int
    last_status: int | None


class Job(Shown):
    job_id: int
    kind: str
    ticket_id: str | None
    workspace_id: str
    actor: str = Field(description="Who asked for the work.", examples=["customer:C-0022"])
    state: State
    attempts: int
    max_attempts: int
    progress: int = Field(ge=0, le=100)
    created_at: Time
    started_at: Time | None = Field(description="The first start.")
    finished_at: Time | None
    run_after: Time
    cancel_requested: bool
    last_error: JobError | None
    discarded_by: str | None
    discarded_at: Time | None
    result: dict[str, Any] | None


class JobDetail(Job):
    """One job with its way so far."""

    steps: list[Step]
    history: list[PastRun]
    approval: Approval | None
    artifacts: list[ArtifactLink]
    webhook: Webhook | None


class JobPage(Shown):
    items: list[Job]
    next: str | None


class KindNumbers(Shown):
    queued: int
    ready: int = Field(description="Queued and due.")
    running: int
    oldest_queued_seconds: float


class BreakerState(Shown):
    state: Literal["closed", "open", "half_open"]
    retry_at: Time | None


class ProviderState(Shown):
    """The AI provider as all instances see it."""

    chat_rpm: int | None = Field(description="Chat calls a minute; null when no quota is set.")
    calls_available: int | None
    paused_until: Time | None
    reason: str | None = Field(description="Why no call is made just now, in words.")
    breakers: dict[str, BreakerState]


class Queue(Shown):
    """The queue's numbers. An `oldest_queued_seconds` that grows without end means no worker, or too few."""

    queued: int
    ready: int
    running: int
    waiting_for_approval: int
    dead_letter: int
    failed: int
    finished_last_minute: int
    oldest_queued_seconds: float
    outbox_pending: int
    outbox_oldest_seconds: float
    provider: ProviderState
    kinds: dict[str, KindNumbers]


class Ready(Shown):
    ready: bool
    checks: dict[str, str]


class Live(Shown):
    alive: Literal[True] = True


class ProblemField(Shown):
    field: str
    problem: str


class Problem(Shown):
    code: str
    message: str
    request_id: str
    fields: list[ProblemField] | None = None


class ErrorBody(Shown):
    """Every error looks like this."""

    error: Problem


class PageQuery(BaseModel):
    """Query parameters of a list; unknown ones are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    limit: int = Field(default=50, ge=1, le=200)
    after: str | None = None


class ArtifactQuery(BaseModel):
    """The key to one file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    token: str = ""


class TicketQuery(PageQuery):
    ai_state: State | None = None
    team: Team | None = None
    customer_id: CustomerId | None = None


class JobQuery(PageQuery):
    state: State | None = None
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,64}$")] | None = None
    workspace_id: WorkspaceId | None = None
