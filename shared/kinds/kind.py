"""What a kind of job declares.

Adding a kind is one module like shared/kinds/ticket.py, and its name in wiring.known_kinds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, LiteralString, Protocol

from pydantic import BaseModel

from shared.artifacts import Artifact
from shared.db import Database
from shared.jobs.claim import Claim
from shared.provider.client import Chat, Endpoint

Outputs = dict[str, Any]


class Desk(Protocol):
    """What a step works at: its job, what earlier steps saved, the database and the AI provider."""

    saved: Outputs
    db: Database

    @property
    def claim(self) -> Claim: ...

    async def chat(self, ask: Chat) -> str:
        """Ask the chat model. Raises ProviderError."""

    async def embed(self, text: str, *, dimensions: int) -> list[float]:
        """One embedding. Raises ProviderError."""

    async def deliver(self, url: str, event_id: str, body: bytes) -> int:
        """POST a signed event to a receiver; the status of its answer. Raises Undelivered."""


async def _nothing(_: Desk) -> None:
    """The work of a step that a person does."""


@dataclass(frozen=True)
class Step:
    """One step: its output (anything JSON) is saved at once and never computed again.

    Steps of one `stage` may run side by side; a stage begins when all earlier ones are saved. `is_approval`: a person
    does it. `detail` is a line for people ("batch 7 of 12").
    """

    name: str
    work: Callable[[Desk], Awaitable[Any]] = _nothing
    stage: int = 0
    endpoint: Endpoint | None = None
    chat_calls: int = 0
    is_approval: bool = False
    detail: str | None = None


def _no_artifacts(_: Outputs) -> tuple[Artifact, ...]:
    return ()


@dataclass(frozen=True)
class Kind:
    """A kind of job. Durations in seconds.

    `plan` gives all steps as far as they can be known from what is saved; a job that wants an approval has the
    steps with `is_approval`, others skip them. `input` is the model of what a caller may send, None for a kind that
    is not asked for by POST /v1/jobs. `result` and `artifacts` make of all outputs what appears when the job
    succeeds, `preview` what a person sees before the approval. `publish` is a CTE over `gone` (the job's row as it
    becomes succeeded) for what else the world is shown, in the same statement.

    `parallel` steps of a stage run side by side. A kind that `yields` lets others have the provider first. Jobs with
    the same `share` have a common limit of how many may be under way. `max_age_s`: older jobs are not retried again.
    """

    name: str
    queue: str
    plan: Callable[[Outputs], tuple[Step, ...]]
    deadline_s: float
    result: Callable[[Outputs], dict[str, Any]]
    input: type[BaseModel] | None = None
    artifacts: Callable[[Outputs], tuple[Artifact, ...]] = _no_artifacts
    preview: Callable[[Outputs], tuple[Artifact, ...]] = _no_artifacts
    publish: LiteralString = ""
    parallel: int = 1
    yields: bool = False
    share: str | None = None
    max_age_s: float | None = None
    is_cancellable: bool = False
    max_attempts: int | None = None
    retry_base_s: float | None = None
    retry_cap_s: float | None = None

    def steps(self, saved: Outputs, *, wants_approval: bool) -> tuple[Step, ...]:
        """All steps of a job, in order."""
        return tuple(step for step in self.plan(saved) if wants_approval or not step.is_approval)


@dataclass(frozen=True)
class Plan:
    """How far a job is: its steps, and what of them is saved."""

    steps: tuple[Step, ...]
    saved: frozenset[str]

    @classmethod
    def of(cls, kind: Kind, saved: Outputs, *, wants_approval: bool) -> Plan:
        return cls(kind.steps(saved, wants_approval=wants_approval), frozenset(saved))

    @property
    def names(self) -> list[str]:
        return [step.name for step in self.steps]

    @property
    def remaining(self) -> tuple[Step, ...]:
        """Steps that are not saved, in order."""
        return tuple(step for step in self.steps if step.name not in self.saved)

    @property
    def next(self) -> tuple[Step, ...]:
        """Steps that can run now, side by side; () when all is done."""
        remaining = self.remaining
        return tuple(step for step in remaining if step.stage == remaining[0].stage)

    @property
    def progress(self) -> int:
        """0–100: saved steps of all steps."""
        return round(100 * (len(self.steps) - len(self.remaining)) / len(self.steps))

    @property
    def chat_calls(self) -> int:
        """How many chat calls the job still has before it."""
        return sum(step.chat_calls for step in self.remaining)

    @property
    def endpoint(self) -> Endpoint | None:
        """What the next step calls."""
        return self.remaining[0].endpoint if self.remaining else None
