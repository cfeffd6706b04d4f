"""What the owner of a running job writes before it leaves: steps, and the lease."""

from __future__ import annotations

from datetime import timedelta

from shared.db import Database
from shared.jobs import leave
from tests.db.arrows import STEP, claim_of, reach, send
from tests.stage import job_row


async def test_saving_a_step_then_output_progress_and_needs_are_kept(db: Database) -> None:
    row = await reach(db, "running")

    assert await send(db, "save_step", row)

    kept = await job_row(db, row["job_id"])
    assert (kept["progress"], kept["endpoint"], kept["chat_calls_left"]) == (33, "chat", 1)
    [step] = await db.fetch_dicts("SELECT name, state, output, finished_at FROM job_steps")
    assert (step["name"], step["state"], step["output"]) == ("classify", "succeeded", STEP)
    assert step["finished_at"] is not None


async def test_saving_a_step_twice_then_the_first_output_stays_and_progress_never_falls(db: Database) -> None:
    row = await reach(db, "running")
    await send(db, "save_step", row)
    await db.execute("UPDATE jobs SET progress = 67")
    await db.execute("UPDATE job_steps SET output = '\"first\"'")

    assert await send(db, "save_step", row)

    assert (await job_row(db, row["job_id"]))["progress"] == 67
    assert await db.fetch_dicts("SELECT output FROM job_steps") == [{"output": "first"}]


async def test_extending_then_only_the_lease_moves(db: Database) -> None:
    row = await reach(db, "running")

    assert await send(db, "extend", row)

    extended = await job_row(db, row["job_id"])
    assert extended["locked_until"] > row["locked_until"] + timedelta(seconds=200)
    assert extended | {"locked_until": row["locked_until"]} == row


async def test_asking_how_a_run_ended_then_history_says_it(db: Database) -> None:
    row = await reach(db, "running")
    assert await leave.how_it_ended(db, claim_of(row)) is None

    await send(db, "retry_later", row)

    assert await leave.how_it_ended(db, claim_of(row)) == "retry"
