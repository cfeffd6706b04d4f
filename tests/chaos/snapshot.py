"""Everything the auditor looks at, read once when all is quiet: rows, their changes, provider calls, messages."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.chaos.ledger import Ledger

FINISHED = frozenset({"succeeded", "failed", "cancelled", "dead_letter"})
AT_REST = FINISHED | {"waiting_for_approval"}  # until a person moves it on


@dataclass(frozen=True)
class Job:
    """A row of jobs."""

    job_id: int
    kind: str
    queue: str
    ticket_id: int | None
    state: str
    delivery: int
    run: int
    attempts: int
    max_attempts: int
    input: dict[str, Any] = field(default_factory=dict)
    about_job_id: int | None = None
    result: dict[str, Any] | None = None
    last_error: dict[str, Any] | None = None
    announced_at: datetime | None = None
    unclaimed: int = 0
    locked_until: datetime | None = None


@dataclass(frozen=True)
class Ticket:
    """A row of tickets; `is_embedded`: it has a vector."""

    ticket_id: int
    customer_id: str
    subject: str
    team: str | None = None
    priority: int | None = None
    draft_reply: str | None = None
    is_embedded: bool = False


@dataclass(frozen=True)
class Run:
    """A row of job_runs."""

    job_id: int
    run: int
    attempt: int
    outcome: str | None
    error: dict[str, Any] | None = None


@dataclass(frozen=True)
class Step:
    """A row of job_steps."""

    job_id: int
    name: str
    state: str


@dataclass(frozen=True)
class File:
    """A row of artifacts."""

    job_id: int
    name: str
    token: str


@dataclass(frozen=True)
class Letter:
    """A row of outbox."""

    job_id: int
    purpose: str
    delivery: int
    due_at: datetime


@dataclass(frozen=True)
class Change:
    """What the witness saw happen to a row: `before` None = inserted, `after` None = deleted; whole rows as JSON.

    `number` is the job's, or the ticket's for the table tickets; `run` is the job's at that moment.
    """

    at: datetime
    table: str
    number: int
    run: int | None
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True)
class Call:
    """Provider calls of one run for one step that ended alike; `outcome` is a status, `stalled` or `cut`."""

    job_id: int
    run: int
    step: str
    outcome: str
    times: int = 1


@dataclass(frozen=True)
class Message:
    """A message on a queue, `text` as it is stored."""

    queue: str
    text: str

    @property
    def content(self) -> dict[str, Any] | None:
        """The JSON object in it, with or without base64 around it; None when there is none."""
        for text in (self.text, self._decoded()):
            if text is not None:
                try:
                    value = json.loads(text)
                except ValueError:
                    continue
                if isinstance(value, dict):
                    return value
        return None

    @property
    def job_id(self) -> int | None:
        """The job it names; None for a stray."""
        named = (self.content or {}).get("job_id")
        return named if isinstance(named, int) else None

    def _decoded(self) -> str | None:
        try:
            return base64.b64decode(self.text, validate=True).decode()
        except (binascii.Error, ValueError):
            return None


@dataclass(frozen=True)
class Snapshot:
    """`up_since`: from then on nothing was in anybody's way; `is_watched`: and people looked at unfinished jobs.
    `mirror_is_due`: the poison queue must have caught up. `hidden`: messages per queue that could not be read.
    """

    taken_at: datetime
    up_since: datetime
    is_watched: bool = True
    mirror_is_due: bool = True
    jobs: Mapping[int, Job] = field(default_factory=dict)
    tickets: Mapping[int, Ticket] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
    steps: tuple[Step, ...] = ()
    files: tuple[File, ...] = ()
    outbox: tuple[Letter, ...] = ()
    changes: tuple[Change, ...] = ()
    calls: tuple[Call, ...] = ()
    messages: tuple[Message, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)

    def changes_of(self, table: str) -> list[Change]:
        """What happened to the rows of one table, in order."""
        return [change for change in self.changes if change.table == table]
