"""The finished report, before it is drawn: the counts complete, the numbers ready. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from pydantic import TypeAdapter

from shared.kinds.kind import Outputs
from shared.kinds.support_report.findings import FINDINGS, Findings
from shared.names import time_text
from shared.ticket_pages import Taken

TEAMS = ("billing", "login", "shipping", "account", "other")
PRIORITIES = ("1", "2", "3")
CHANNELS = ("email", "web_form", "chat", "phone")
UNCLASSIFIED = "unclassified"

TAKEN = TypeAdapter(Taken)


@dataclass(frozen=True)
class Report:
    """What is drawn: a workspace's period, its tickets counted, and what they tell."""

    job_id: int
    workspace_id: str
    task: str
    taken: Taken
    findings: Findings

    @classmethod
    def of(cls, saved: Outputs) -> Report:
        """The report that the saved steps add up to; without a ticket there was nothing to merge."""
        collected = saved["collect"]
        return cls(
            job_id=collected["job_id"],
            workspace_id=collected["workspace_id"],
            task=collected["task"],
            taken=TAKEN.validate_python(collected["taken"]),
            findings=FINDINGS.validate_python(saved.get("merge", {})),
        )

    @property
    def summary(self) -> str:
        """The report in a few sentences."""
        if self.taken.tickets == 0:
            return f"No tickets came to {self.workspace_id} in this period."
        return self.findings.summary or "The tickets of this period were deleted before they could be read."

    @property
    def by_team(self) -> dict[str, int]:
        return _complete(self.taken.by_team, (*TEAMS, UNCLASSIFIED))

    @property
    def by_priority(self) -> dict[str, int]:
        return _complete(self.taken.by_priority, (*PRIORITIES, UNCLASSIFIED))

    @property
    def by_channel(self) -> dict[str, int]:
        return _complete(self.taken.by_channel, CHANNELS)

    @property
    def by_day(self) -> dict[str, int]:
        """Every day of the period, in order, as 2026-11-29."""
        first, last = self.taken.since.date(), (self.taken.until - timedelta(microseconds=1)).date()
        days = (first + timedelta(days=ahead) for ahead in range((last - first).days + 1))
        return _complete(self.taken.by_day, (day.isoformat() for day in days))

    @property
    def json_text(self) -> str:
        """The same for programs."""
        taken = self.taken
        document: dict[str, Any] = {
            "job_id": self.job_id,
            "workspace_id": self.workspace_id,
            "task": self.task,
            "period": {"from": time_text(taken.since), "to": time_text(taken.until)},
            "generated_at": time_text(taken.taken_at),
            "tickets": taken.tickets,
            "tickets_in_period": taken.in_period,
            "summary": self.summary,
            "problems": [asdict(problem) for problem in self.findings.problems],
            "by_team": self.by_team,
            "by_priority": self.by_priority,
            "by_channel": self.by_channel,
            "by_day": self.by_day,
        }
        return json.dumps(document, ensure_ascii=False, indent=2)


def _complete(counts: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    """Every name in its order, those without a ticket with 0."""
    return {name: counts.get(name, 0) for name in names}
