"""All rows about jobs as they are at one moment, for promises that are about what two looks show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import LiteralString

from shared.db import Database, Row

# One snapshot for all; what lies in time is judged by the database's own clock.
LOOK: LiteralString = """
SELECT coalesce((SELECT jsonb_agg(to_jsonb(jobs) || jsonb_build_object('is_over', locked_until < clock_timestamp()))
                 FROM jobs), '[]') AS jobs,
       coalesce((SELECT jsonb_agg(to_jsonb(job_steps)) FROM job_steps), '[]') AS steps,
       coalesce((SELECT jsonb_agg(to_jsonb(job_runs)) FROM job_runs), '[]') AS runs,
       coalesce((SELECT jsonb_agg(to_jsonb(approvals)
                                  || jsonb_build_object('is_late', expires_at <= clock_timestamp()))
                 FROM approvals), '[]') AS questions,
       coalesce((SELECT jsonb_agg(to_jsonb(outbox)) FROM outbox), '[]') AS outbox
"""


@dataclass(frozen=True)
class Seen:
    """All rows about jobs at one moment; `questions` are those that people decide about."""

    jobs: dict[int, Row] = field(default_factory=dict)
    steps: dict[tuple[int, str], Row] = field(default_factory=dict)
    runs: dict[tuple[int, int], Row] = field(default_factory=dict)
    questions: dict[int, Row] = field(default_factory=dict)
    outbox: list[Row] = field(default_factory=list)

    def of(self, job_id: int) -> list[Row]:
        """Every row about one job."""
        tables = (self.jobs.values(), self.steps.values(), self.runs.values(), self.questions.values(), self.outbox)
        return [row for table in tables for row in table if row["job_id"] == job_id]

    def outputs(self, job_id: int) -> dict[str, object]:
        """What a job's finished steps have saved, by their names."""
        steps = self.steps.items()
        return {name: row["output"] for (job, name), row in steps if job == job_id and row["state"] == "succeeded"}

    def is_at(self, job_id: int, run: int) -> bool:
        """Whether the job is in the hands of this run."""
        job = self.jobs[job_id]
        return (job["state"], job["run"]) == ("running", run)

    def is_at_another(self, job_id: int, run: int) -> bool:
        return self.jobs[job_id]["state"] == "running" and not self.is_at(job_id, run)

    def waits_in_vain(self, job_id: int) -> bool:
        """Whether the time is over in which a person could have approved it."""
        return any(row["is_late"] for row in self.questions_open(job_id))

    def questions_open(self, job_id: int) -> Iterator[Row]:
        return (row for row in self.questions.values() if (row["job_id"], row["state"]) == (job_id, "waiting"))


async def look(db: Database) -> Seen:
    row = await db.fetch_dict(LOOK)
    assert row is not None
    return Seen(
        jobs={job["job_id"]: job for job in row["jobs"]},
        steps={(step["job_id"], step["name"]): step for step in row["steps"]},
        runs={(run["job_id"], run["run"]): run for run in row["runs"]},
        questions={question["approval_id"]: question for question in row["questions"]},
        outbox=row["outbox"],
    )
