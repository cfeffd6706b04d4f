"""The tables refuse rows that no arrow can make, whoever writes them."""

from __future__ import annotations

from typing import LiteralString

import psycopg
import pytest

from shared.db import Database
from tests.db.arrows import reach

NONSENSE: list[tuple[str, LiteralString]] = [
    ("queued", "state = 'paused'"),
    ("queued", "state = 'running'"),
    ("queued", "state = 'succeeded', finished_at = now()"),
    ("queued", "state = 'failed', finished_at = now()"),
    ("queued", "state = 'cancelled'"),
    ("queued", "finished_at = now()"),
    ("queued", "result = '{}'"),
    ("queued", "locked_until = now()"),
    ("queued", "claim_id = gen_random_uuid(), run_started_at = now(), locked_until = now()"),
    ("queued", "attempts = max_attempts + 1"),
    ("queued", "attempts = -1"),
    ("queued", "max_attempts = 0"),
    ("queued", "progress = 101"),
    ("queued", "progress = -1"),
    ("queued", "deadline_s = 0"),
    ("queued", "poison_message_id = 'm'"),
    ("queued", "discarded_by = 'Ada'"),
    ("running", "state = 'queued'"),
    ("running", "state = 'failed', finished_at = now(), last_error = '{}'"),
    ("running", "locked_until = NULL"),
    ("running", "claim_id = NULL"),
    ("running", "run_started_at = NULL"),
    ("running", "announced_at = now()"),
    ("running", "result = '{}'"),
    ("succeeded", "result = NULL"),
    ("succeeded", "finished_at = NULL"),
    ("succeeded", "state = 'queued', finished_at = NULL"),
    ("succeeded", "state = 'cancelled'"),
    ("failed", "last_error = NULL"),
    ("failed", "discarded_at = now()"),
    ("dead_letter", "last_error = NULL"),
    ("dead_letter", "finished_at = NULL"),
    ("dead_letter", "announced_at = now()"),
    ("cancelled", "finished_at = NULL"),
]


@pytest.mark.parametrize(("state", "assignment"), NONSENSE)
async def test_job_when_made_impossible_by_hand_then_refused(
    db: Database, state: str, assignment: LiteralString
) -> None:
    await reach(db, state)
    with pytest.raises(psycopg.errors.CheckViolation):
        await db.execute("UPDATE jobs SET " + assignment)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE job_runs SET ended_at = now()",
        "UPDATE job_runs SET outcome = 'retry'",
        "UPDATE job_runs SET ended_at = now(), outcome = 'vanished'",
        "INSERT INTO job_steps (job_id, name, position, state) SELECT job_id, 'classify', 0, 'succeeded' FROM jobs",
        "INSERT INTO job_steps (job_id, name, position, state) SELECT job_id, 'classify', 0, 'skipped' FROM jobs",
        "INSERT INTO outbox (queue, purpose, job_id, delivery) SELECT 'tickets', 'gossip', job_id, 1 FROM jobs",
        "UPDATE tickets SET team = 'marketing'",
        "UPDATE tickets SET priority = 4",
        "UPDATE tickets SET channel = 'fax'",
        "UPDATE customers SET workspace_id = 'Team 42'",
        "INSERT INTO customers (customer_id, name, workspace_id) VALUES ('C-1', 'x', 'y')",
    ],
)
async def test_row_around_a_job_when_made_impossible_by_hand_then_refused(
    db: Database, statement: LiteralString
) -> None:
    await reach(db, "running")
    with pytest.raises(psycopg.errors.CheckViolation):
        await db.execute(statement)


async def test_ticket_when_a_second_job_is_made_for_it_then_refused(db: Database) -> None:
    await reach(db, "queued")
    with pytest.raises(psycopg.errors.UniqueViolation):
        await db.execute(
            "INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s)"
            " SELECT kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s FROM jobs"
        )


async def test_run_when_opened_twice_then_refused(db: Database) -> None:
    await reach(db, "running")
    with pytest.raises(psycopg.errors.UniqueViolation):
        await db.execute("INSERT INTO job_runs (job_id, run, attempt) SELECT job_id, run, attempts FROM jobs")
