"""What a kind of job declares."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, LiteralString, Protocol

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


@dataclass(frozen=True)
class Step:
    """One step: its output (anything JSON) is saved at once and never computed again."""

    name: str
    work: Callable[[Desk], Awaitable[Any]]
    endpoint: Endpoint | None = None
    chat_calls: int = 0


@dataclass(frozen=True)
class Kind:
    """A kind of job.

    `publish` is a CTE over `gone` (the job's row as it becomes succeeded) that shows the result to the world in the
    same statement; `result` makes the job's result of all saved outputs; `deadline_s` is running time in seconds.
    """

    name: str
    queue: str
    steps: tuple[Step, ...]
    deadline_s: float
    result: Callable[[Outputs], dict[str, Any]]
    publish: LiteralString = ""

    def remaining(self, saved: Outputs) -> tuple[Step, ...]:
        """The steps that are not saved yet, in order."""
        return tuple(step for step in self.steps if step.name not in saved)

    def progress(self, saved: Outputs) -> int:
        """0–100: finished steps of all steps."""
        return round(100 * (len(self.steps) - len(self.remaining(saved))) / len(self.steps))

    def chat_calls(self, saved: Outputs) -> int:
        """How many chat calls the job still has before it."""
        return sum(step.chat_calls for step in self.remaining(saved))

    def endpoint(self, saved: Outputs) -> Endpoint | None:
        """What the next step calls."""
        return next((step.endpoint for step in self.remaining(saved)), None)
