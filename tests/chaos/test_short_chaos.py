"""A short chaos run, so that the suite itself is known to work and the app meets misfortune with every change."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.run import Plan, play

PLAN = Plan(
    seed=24,
    chaos_s=12,
    gap_s=1,
    longest_s=2,
    tickets_per_s=2.5,
    operators_gap_s=1,
    strangers_gap_s=0.5,
    ends_within_s=15,
    mirror_within_s=3,
    is_watched=True,
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A place that the account can reach to which root lends Postgres."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        yield Path(name)


@pytest.mark.timeout(180)
async def test_short_chaos_then_every_promise_was_kept(folder: Path) -> None:
    said: list[str] = []
    report = await play(PLAN, folder, said.append)
    shown = "\n".join((*said, *report.lines()))
    assert report.violations == [], shown
    assert {"kill_host", "kill_postgres", "kill_azurite", "cut_connections"} <= set(report.misfortunes), shown
    assert report.accepted >= 10, shown
