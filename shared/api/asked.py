"""What clients send: the models that validate bodies and query parameters."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from shared.api.fields import (
    Channel,
    CustomerId,
    ErrorCode,
    KindName,
    Sent,
    Signature,
    Team,
    Text,
    Trimmed,
    Whole,
    WorkspaceId,
)
from shared.jobs.states import State


class NewTicket(Sent):
    """A ticket as a customer writes it. Lengths are code points."""

    customer_id: CustomerId
    subject: Annotated[Trimmed, Field(max_length=120)] = Field(
        description="What it is about; trimmed.", examples=["Charged twice"]
    )
    body: Annotated[Text, Field(max_length=5000)] = Field(
        default="", description="The customer's words.", examples=["Two payments for one order."]
    )
    channel: Channel = Field(default="web_form", description="How it came.", examples=["email"])


class NewJob(Sent):
    """Work that a workspace asks for."""

    task: Annotated[Trimmed, Field(max_length=500)] = Field(
        description="What is to be done, in words; trimmed.", examples=["Generate weekly support report"]
    )
    workspace_id: WorkspaceId
    kind: KindName = "support_report"
    input: dict[str, Any] = Field(
        default_factory=dict,
        description="What the kind wants to know. A support_report: `from` and `to` (dates or RFC 3339 times, by"
        " default the last seven days) and `max_tickets`.",
        examples=[{"from": "2026-11-23", "to": "2026-11-29"}],
    )
    require_approval: bool = Field(default=False, description="Whether a person has to approve the result.")
    webhook_url: Annotated[Text, Field(max_length=2048)] | None = Field(
        default=None,
        description="Where to tell how the job ended, as in Standard Webhooks: https, port 443, a public address.",
        examples=["https://shop.example/hooks/larkfield"],
    )
    timeout_seconds: Whole = Field(
        default=600, ge=30, le=3600, description="Running time after which the job fails; waiting does not count."
    )


class Decision(Sent):
    """Who decides, and why."""

    decided_by: Signature
    comment: Annotated[Text, Field(max_length=2000)] | None = Field(
        default=None, description="Why.", examples=["Numbers checked."]
    )


class Discard(Sent):
    """Who throws the dead letter away."""

    discarded_by: Signature


class Nothing(Sent):
    """A call that needs no body takes an empty object as well."""


class Redrive(Sent):
    """Which dead letters (or failed jobs) to put back on the queue, oldest first."""

    state: Literal["dead_letter", "failed"] = Field(default="dead_letter", description="Which of the two.")
    kind: KindName | None = Field(default=None, description="Only this kind; all but webhooks' deliveries if not said.")
    workspace_id: WorkspaceId | None = Field(default=None, description="Only this workspace's.")
    error_code: ErrorCode | None = Field(default=None, description="Only those whose last error has this code.")
    limit: Whole = Field(default=100, ge=1, le=1000, description="At most so many.")
    dry_run: bool = Field(default=False, description="Only count: `remaining` is how many match now.")


class CustomerBody(Sent):
    """A customer; its workspace exists as soon as a customer names it."""

    name: Annotated[Trimmed, Field(max_length=200)] = Field(description="Trimmed.", examples=["Ada Archer"])
    workspace_id: WorkspaceId


class PageQuery(BaseModel):
    """Query parameters of a list; unknown ones are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    limit: int = Field(default=50, ge=1, le=200, description="Items on a page.")
    after: str | None = Field(default=None, description="The `next` of the page before.")


class ArtifactQuery(BaseModel):
    """The key to one file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    token: str = Field(default="", description="The file's own key, as in its `url`.")


class TicketQuery(PageQuery):
    """Filters of the list of tickets; those given must all fit."""

    ai_state: State | None = Field(default=None, description="Only with a job in this state.")
    team: Team | None = Field(default=None, description="Only this team's.")
    customer_id: CustomerId | None = Field(default=None, description="Only this customer's.")
    workspace_id: WorkspaceId | None = Field(default=None, description="Only this workspace's.")
    after: str | None = Field(
        default=None,
        description="The `next` of the page before.",
        examples=["T-500001"],
        json_schema_extra={"pattern": "^T-[1-9][0-9]{0,17}$"},
    )


class SimilarQuery(BaseModel):
    """How many similar tickets are wanted."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    k: int = Field(default=5, ge=1, le=20, description="How many.")


class JobQuery(PageQuery):
    """Filters of the list of jobs; those given must all fit."""

    state: State | None = Field(default=None, description="Only in this state.")
    kind: KindName | None = Field(default=None, description="Only this kind; all but webhooks' deliveries if not said.")
    workspace_id: WorkspaceId | None = Field(default=None, description="Only this workspace's.")
    error_code: ErrorCode | None = Field(default=None, description="Only those whose last error has this code.")
    after: str | None = Field(
        default=None,
        description="The `next` of the page before.",
        examples=["51"],
        json_schema_extra={"pattern": "^[1-9][0-9]{0,17}$"},
    )
