"""Kinds of job for tests: tickets whose steps do what the test says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from shared.kinds import ticket
from shared.kinds.kind import Desk, Kind, Step


def kind_of(*works: Callable[[Desk], Awaitable[Any]]) -> dict[str, Kind]:
    """The kinds of a worker whose tickets have these steps, named step_1, step_2 …; the result is what they gave."""
    steps = tuple(Step(f"step_{number}", work, stage=number) for number, work in enumerate(works, 1))
    return {"ticket": replace(ticket.KIND, plan=lambda _: steps, result=lambda saved: dict(saved), publish="")}
