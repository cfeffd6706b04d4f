"""What the database says of jobs and their runs. Read there and not over HTTP, where every look may start a pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import psycopg
from psycopg.rows import class_row

from simulator.stack.waiting import wait_until

JOBS: LiteralString = """
SELECT job_id, state, attempts, created_at, started_at, finished_at FROM jobs WHERE job_id = ANY(%s) ORDER BY job_id
"""
RUNS: LiteralString = """
SELECT job_id, run, started_at, ended_at, outcome, error->>'code' AS error_code FROM job_runs
WHERE job_id = ANY(%s) ORDER BY job_id, run
"""
UNFINISHED: LiteralString = """
SELECT count(*) FROM jobs WHERE job_id = ANY(%s) AND state IN ('queued', 'running')
"""


@dataclass(frozen=True)
class Job:
    """A job's row, in part."""

    job_id: int
    state: str
    attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def waited_s(self) -> float:
        """Seconds from its creation until it first ran."""
        return seconds(self.created_at, self.started_at)


@dataclass(frozen=True)
class Run:
    """One taking of a job by a worker."""

    job_id: int
    run: int
    started_at: datetime
    ended_at: datetime | None
    outcome: str | None
    error_code: str | None


def read_jobs(database_url: str, job_ids: Sequence[int]) -> list[Job]:
    with psycopg.connect(database_url) as connection:
        return connection.cursor(row_factory=class_row(Job)).execute(JOBS, (list(job_ids),)).fetchall()


def read_runs(database_url: str, job_ids: Sequence[int]) -> list[Run]:
    with psycopg.connect(database_url) as connection:
        return connection.cursor(row_factory=class_row(Run)).execute(RUNS, (list(job_ids),)).fetchall()


def wait_until_finished(database_url: str, job_ids: Sequence[int], *, within_s: float) -> None:
    """Wait until none of the jobs is queued or running. Raises TimeoutError."""
    with psycopg.connect(database_url, autocommit=True) as connection:

        def is_finished() -> bool:
            return connection.execute(UNFINISHED, (list(job_ids),)).fetchone() == (0,)

        wait_until(is_finished, deadline_s=within_s, what="all jobs come to their end", every_s=0.2)


def seconds(start: datetime, end: datetime | None) -> float:
    """From `start` to `end`, which must be known."""
    if end is None:
        raise ValueError("it has not happened yet")
    return (end - start).total_seconds()
