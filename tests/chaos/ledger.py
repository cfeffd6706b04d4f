"""What the people outside did and were told: requests and answers, what operators decided, what strangers sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

DeedKind = Literal["retry", "retry_many", "discard", "cancel", "approve", "reject", "put_back"]


def now() -> datetime:
    """The clock of everything that is noted here; Postgres runs on the same one."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Answer:
    """One answer to a new ticket; `status` None = none came. `code` is the error's, where the body named one."""

    status: int | None
    code: str | None = None
    ticket_id: str | None = None
    job_id: int | None = None

    @property
    def leaves_doubt(self) -> bool:
        """Whether the ticket may have been saved although nobody said so (contract, section 3)."""
        if self.status is None or (self.status >= 500 and self.code is None):
            return True
        return self.status == 503 and self.code == "database_unavailable"


@dataclass
class Request:
    """A ticket, or a report, that somebody wanted; `token` stands in its subject or task and in no other. With a `key`
    it was sent until an answer came, perhaps oftener; without one just once. `path` and `body` are what was sent."""

    token: str
    key: str | None
    path: str
    body: dict[str, Any]
    answers: list[Answer] = field(default_factory=list)

    @property
    def was_accepted(self) -> bool:
        return any(answer.status == 202 for answer in self.answers)

    @property
    def may_exist(self) -> bool:
        return self.was_accepted or any(answer.leaves_doubt for answer in self.answers)


@dataclass(frozen=True)
class Sighting:
    """A finished job as the API showed it."""

    job_id: int
    state: str
    result: dict[str, Any] | None


@dataclass(frozen=True)
class Hearing:
    """An event that a caller's system was told of, and the status with which it answered."""

    event_id: str
    status: int


@dataclass(frozen=True)
class Deed:
    """What a person decided. `job_id` None = the bulk retry. `status` None = no answer came, or none can come.

    A message put back (`put_back`, with the `delivery` it names) takes effect at any later time.
    """

    kind: DeedKind
    job_id: int | None
    began_at: datetime
    ended_at: datetime | None = None
    status: int | None = None
    delivery: int | None = None

    @property
    def is_certain(self) -> bool:
        return self.status == 200

    @property
    def may_have_worked(self) -> bool:
        return self.status in (None, 200, 202) or self.status >= 500


@dataclass(frozen=True)
class Stray:
    """A text that names no job, put on a queue where it has to end up as, and to stay, a poison message."""

    text: str
    put_at: datetime


@dataclass
class Ledger:
    """All of it."""

    requests: list[Request] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)
    hearings: list[Hearing] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    strays: list[Stray] = field(default_factory=list)
    storage_killed_at: list[datetime] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)  # answers that the contract does not know at that place
