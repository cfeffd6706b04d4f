"""The steps of a report, as they become known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from shared.kinds.kind import Plan, Step
from shared.kinds.support_report import make
from shared.kinds.support_report.steps import FAN_IN

KIND = make(4)


def collected(pages: int) -> dict[str, Any]:
    return {"collect": {"taken": {"pages": [[number] for number in range(pages)]}}}


def plan(pages: int, *, wants_approval: bool = False) -> Plan:
    return Plan.of(KIND, collected(pages), wants_approval=wants_approval)


def names(steps: Iterable[Step]) -> list[str]:
    return [step.name for step in steps]


def test_plan_when_nothing_is_known_then_has_only_steps_that_every_report_has() -> None:
    assert names(KIND.steps({}, wants_approval=False)) == ["collect", "draw"]
    assert names(KIND.steps({}, wants_approval=True)) == ["collect", "draw", "approval"]


def test_plan_when_the_period_is_empty_then_calls_nobody() -> None:
    assert names(plan(0).steps) == ["collect", "draw"]
    assert plan(0).chat_calls == 0


def test_plan_when_twelve_pages_then_batches_side_by_side_and_one_merge() -> None:
    steps = plan(12, wants_approval=True).steps
    assert names(steps) == ["collect", *(f"batch-{n}" for n in range(1, 13)), "merge", "draw", "approval"]
    assert [step.detail for step in steps][1:13] == [f"batch {n} of 12" for n in range(1, 13)]
    assert len({step.stage for step in steps[1:13]}) == 1
    assert [step.stage for step in steps[13:]] == [2, 3, 4]
    assert (plan(12).chat_calls, plan(12).endpoint) == (13, "chat")
    assert all(step.detail for step in steps)


@pytest.mark.parametrize("pages", [1, FAN_IN, FAN_IN + 1, 144, 145, 400])
def test_plan_when_there_are_many_pages_then_every_summary_is_merged_once_and_none_with_too_many(pages: int) -> None:
    steps = plan(pages).steps
    merges = {step.name: step.work.keywords["parts"] for step in steps if step.name.startswith("merge")}  # type: ignore[attr-defined]  # a partial
    merged = [name for parts in merges.values() for name in parts]
    batches = [f"batch-{number}" for number in range(1, pages + 1)]
    assert sorted(merged) == sorted([*batches, *(name for name in merges if name != "merge")])
    assert max(len(parts) for parts in merges.values()) <= FAN_IN
    stages = {step.name: step.stage for step in steps}
    assert all(stages[part] < stages[name] for name, parts in merges.items() for part in parts)
    assert steps[-2].name == "merge"
    assert len({step.name for step in steps}) == len(steps)
    assert [step.stage for step in steps] == sorted(step.stage for step in steps)


def test_plan_when_asked_again_then_is_made_once() -> None:
    assert plan(400).steps[7] is plan(400).steps[7]
