"""What clients get: the models that shape answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from shared.api.fields import Channel, CustomerId, Shown, Team, Time, WorkspaceId
from shared.jobs.states import State


class Redriven(Shown):
    retried: int
    remaining: int


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


class SimilarTicket(Shown):
    """A ticket of the same workspace that is about much the same."""

    ticket_id: str
    subject: str
    team: Team | None
    created_at: Time
    similarity: float = Field(description="1 − cosine distance of the embeddings: 1 is the same, 0 unrelated.")


class SimilarTickets(Shown):
    """The most similar first."""

    items: list[SimilarTicket]


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
