"""What clients get of tickets, jobs and customers: the models that shape answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from shared.api.fields import Channel, CustomerId, JobId, Shown, Team, TicketId, Time, WorkspaceId
from shared.jobs.states import State


class Redriven(Shown):
    """What became of a bulk retry."""

    retried: int = Field(description="Jobs put back on the queue.", ge=0)
    remaining: int = Field(description="Further jobs that match; with `dry_run` all that match.", ge=0)


class Customer(Shown):
    """A customer."""

    customer_id: CustomerId
    name: str = Field(description="The customer's name.", examples=["Ada Archer"])
    workspace_id: WorkspaceId


class AcceptedJob(Shown):
    """The job is queued; follow `status_url`."""

    job_id: JobId
    state: State = Field(description="queued, unless it is a replay's.")
    status_url: str = Field(description="Where the job is to be looked up.", examples=["/v1/jobs/1"])
    queued_ahead: int = Field(description="Queued jobs of the same kind before this one, exact to 1,000.", ge=0)
    estimated_wait_seconds: float | None = Field(
        description="Seconds until the job starts; 0 when it can start now, null when nothing is known."
    )


class Accepted(AcceptedJob):
    """The ticket is saved and its AI work is queued; follow `status_url`."""

    ticket_id: TicketId


class Ticket(Shown):
    """A ticket, with the result of its AI work once there is one."""

    ticket_id: TicketId
    customer_id: CustomerId
    workspace_id: WorkspaceId
    subject: str = Field(description="What it is about.")
    body: str = Field(description="The customer's words.")
    channel: Channel = Field(description="How it came.")
    created_at: Time = Field(description="When it was accepted.")
    job_id: int | None = Field(description="The job of its AI work; null if it came without.")
    ai_state: State | None = Field(description="The state of the ticket's job.")
    team: Team | None = Field(description="Who should answer, as the AI sees it.")
    priority: int | None = Field(description="1 (most urgent) to 3, as the AI sees it.")
    draft_reply: str | None = Field(description="The AI's draft.")


class TicketPage(Shown):
    """Tickets, newest first."""

    items: list[Ticket] = Field(description="At most `limit`.")
    next: str | None = Field(description="Send it as `after` for the next page; null on the last one.")


class SimilarTicket(Shown):
    """A ticket of the same workspace that is about much the same."""

    ticket_id: TicketId
    subject: str = Field(description="What it is about.")
    team: Team | None = Field(description="Who should answer it.")
    created_at: Time = Field(description="When it was accepted.")
    similarity: float = Field(description="1 − cosine distance of the embeddings: 1 is the same, 0 unrelated.")


class SimilarTickets(Shown):
    """The most similar first."""

    items: list[SimilarTicket] = Field(description="At most `k`.")


class JobError(Shown):
    """Why a run did not succeed."""

    code: str = Field(description="For programs.", examples=["provider_timeout"])
    message: str = Field(description="For people.")
    at: Time = Field(description="When.")
    attempt: int = Field(description="In which attempt, from 1.")


class Step(Shown):
    """A part of the work; what is saved of it is not done again."""

    name: str = Field(description="Unique within the job.", examples=["classify"])
    state: Literal["pending", "running", "succeeded", "failed"] = Field(description="How it stands.")
    started_at: Time | None = Field(default=None, description="When it began.")
    finished_at: Time | None = Field(default=None, description="When it was done.")
    detail: str | None = Field(default=None, description="For people.", examples=["batch 7 of 12"])


class PastRun(Shown):
    """One run: a worker took the job, until it left it."""

    run: int = Field(description="Its number, from 1.")
    attempt: int = Field(description="The attempt it was, from 1.")
    started_at: Time = Field(description="When a worker took the job.")
    ended_at: Time | None = Field(description="When it left it; null while it is at work.")
    outcome: str | None = Field(
        description="The state it led to; for `queued` the reason: retry, quota, breaker, slice, shutdown or lost."
    )
    error: JobError | None = Field(description="Why it did not succeed.")


class Approval(Shown):
    """The newest question put to people."""

    state: Literal["waiting", "approved", "rejected", "expired", "cancelled"] = Field(description="How it stands.")
    decided_by: str | None = Field(description="Who decided.")
    decided_at: Time | None = Field(description="When.")
    comment: str | None = Field(description="Why.")
    expires_at: Time = Field(description="Undecided until then, the job is cancelled.")


class ArtifactLink(Shown):
    """A file that the job made."""

    name: str = Field(description="Its name.", examples=["report.html"])
    url: str = Field(description="Opens in a browser; the token in it is the key to this file.")
    content_type: str = Field(description="Its media type.", examples=["text/html; charset=utf-8"])
    size: int = Field(description="Bytes.")
    sha256: str = Field(description="Of the content, in hex.")


class Webhook(Shown):
    """The newest event's delivery."""

    state: Literal["pending", "delivered", "dead_letter"] = Field(description="How it stands.")
    attempts: int = Field(description="How often it was tried.")
    last_status: int | None = Field(description="The status of the receiver's last answer.")


class Job(Shown):
    """Work in the background."""

    job_id: JobId
    kind: str = Field(description="What kind of work.", examples=["ticket"])
    ticket_id: str | None = Field(description="The ticket it is about.")
    workspace_id: WorkspaceId
    actor: str = Field(description="Who asked for the work.", examples=["customer:C-0022"])
    state: State = Field(description="How it stands.")
    attempts: int = Field(description="Attempts used up.")
    max_attempts: int = Field(description="Attempts it has.")
    progress: int = Field(ge=0, le=100, description="Percent.")
    created_at: Time = Field(description="When it was asked for.")
    started_at: Time | None = Field(description="The first start.")
    finished_at: Time | None = Field(description="When it came to its end.")
    run_after: Time = Field(description="No run before.")
    cancel_requested: bool = Field(description="Somebody wants it to stop.")
    last_error: JobError | None = Field(description="Why the last run did not succeed.")
    discarded_by: str | None = Field(description="Who threw the dead letter away.")
    discarded_at: Time | None = Field(description="When.")
    result: dict[str, Any] | None = Field(description="What came of it; depends on the kind.")


class JobDetail(Job):
    """One job with its way so far."""

    steps: list[Step] = Field(description="In order.")
    history: list[PastRun] = Field(description="Its runs, oldest first.")
    approval: Approval | None = Field(description="The newest question put to people.")
    artifacts: list[ArtifactLink] = Field(description="The files it made.")
    webhook: Webhook | None = Field(description="The newest event's delivery; null without a webhook_url.")


class JobPage(Shown):
    """Jobs, newest first."""

    items: list[Job] = Field(description="At most `limit`.")
    next: str | None = Field(description="Send it as `after` for the next page; null on the last one.")
