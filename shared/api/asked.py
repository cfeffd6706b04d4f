"""What clients send: the models that validate bodies and query parameters."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from shared.api.fields import Channel, CustomerId, Sent, Team, Text, Word, WorkspaceId, storable
from shared.jobs.states import State


class NewTicket(Sent):
    """A ticket as a customer writes it. `subject` is trimmed; lengths are code points."""

    customer_id: CustomerId
    subject: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=120),
        AfterValidator(storable),
    ] = Field(examples=["Charged twice"])
    body: Annotated[Text, Field(max_length=5000)] = Field(default="", examples=["Two payments for one order."])
    channel: Channel = "web_form"


class NewJob(Sent):
    """Work that a workspace asks for. `input` depends on the kind; `timeout_seconds` is of running time."""

    task: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500), AfterValidator(storable)
    ] = Field(examples=["Generate weekly support report"])
    workspace_id: WorkspaceId
    kind: Word = "support_report"
    input: dict[str, Any] = Field(default_factory=dict)
    require_approval: bool = False
    webhook_url: Annotated[Text, Field(max_length=2048)] | None = None
    timeout_seconds: int = Field(default=600, ge=30, le=3600)


class Decision(Sent):
    """Who decides, and why."""

    decided_by: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(storable)
    ]
    comment: Annotated[Text, Field(max_length=2000)] | None = None


class Discard(Sent):
    """Who throws the dead letter away."""

    discarded_by: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(storable)
    ]


class Redrive(Sent):
    """Which dead letters (or failed jobs) to put back on the queue, oldest first."""

    state: Literal["dead_letter", "failed"] = "dead_letter"
    kind: Word | None = None
    workspace_id: WorkspaceId | None = None
    error_code: Word | None = None
    limit: int = Field(default=100, ge=1, le=1000)
    dry_run: bool = False


class CustomerBody(Sent):
    """A customer; its workspace exists as soon as a customer names it."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
        AfterValidator(storable),
    ]
    workspace_id: WorkspaceId


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
    workspace_id: WorkspaceId | None = None


class SimilarQuery(BaseModel):
    """How many similar tickets are wanted."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    k: int = Field(default=5, ge=1, le=20)


class JobQuery(PageQuery):
    state: State | None = None
    kind: Word | None = None
    workspace_id: WorkspaceId | None = None
    error_code: Word | None = None
