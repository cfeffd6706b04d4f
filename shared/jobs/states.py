"""The words of the state machine, as the database and the API spell them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["queued", "running", "waiting_for_approval", "succeeded", "failed", "cancelled", "dead_letter"]
FINISHED: frozenset[str] = frozenset({"succeeded", "failed", "cancelled", "dead_letter"})

GivenBack = Literal["quota", "breaker", "slice", "shutdown", "lost"]


@dataclass(frozen=True)
class JobError:
    """Why a run did not succeed: a code of the API and a sentence that a person can act on."""

    code: str
    message: str
    status: int | None = None  # of an HTTP answer, where one came
