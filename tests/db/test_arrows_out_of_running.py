"""What the arrows out of running write: the job's row, its history, its outbox."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from shared.db import Database, Row
from shared.jobs import leave
from tests.db.arrows import RESULT, TROUBLE, claim_of, reach, send
from tests.stage import job_row, runs_of

OUTBOX = "SELECT queue, purpose, delivery, due_at, claimed_until, attempts FROM outbox WHERE job_id = %(job_id)s"


async def running(db: Database) -> Row:
    """A running job whose announcement has been put and deleted."""
    row = await reach(db, "running")
    await db.execute("DELETE FROM outbox")
    return row


async def outbox_of(db: Database, row: Row) -> list[Row]:
    return await db.fetch_dicts(OUTBOX, {"job_id": row["job_id"]})


def error_of(row: Row) -> tuple[str, str, int]:
    error: dict[str, Any] = row["last_error"]
    assert set(error) == {"code", "message", "at", "attempt"}
    return error["code"], error["message"], error["attempt"]


@pytest.mark.parametrize("arrow", ["succeed", "fail", "retry_later", "give_back", "dead_letter"])
async def test_leaving_then_lease_is_gone_and_history_is_closed(db: Database, arrow: str) -> None:
    row = await running(db)

    assert await send(db, arrow, row)

    left = await job_row(db, row["job_id"])
    assert (left["claim_id"], left["run_started_at"], left["locked_until"]) == (None, None, None)
    assert (left["run"], left["started_at"]) == (row["run"], row["started_at"])
    [past] = await db.fetch_dicts("SELECT run, attempt, started_at, ended_at, outcome, error FROM job_runs")
    assert (past["run"], past["attempt"]) == (1, 1)
    assert past["started_at"] <= past["ended_at"]
    expected = {"retry_later": "retry", "give_back": "quota"}.get(arrow, left["state"])
    assert past["outcome"] == expected
    assert past["error"] == (left["last_error"] if arrow in ("fail", "retry_later", "dead_letter") else None)


async def test_succeeding_then_result_is_on_job_and_ticket_and_step_outputs_are_gone(db: Database) -> None:
    row = await running(db)
    await send(db, "save_step", row)
    await db.execute(
        "INSERT INTO job_steps (job_id, name, position, state, finished_at, output)"
        " SELECT %(job_id)s, 'embed', 2, 'succeeded', now(), jsonb_agg(n) FROM generate_series(1, 384) AS n",
        {"job_id": row["job_id"]},
    )
    await db.execute('UPDATE jobs SET last_error = \'{"code": "provider_timeout"}\'')

    assert await send(db, "succeed", row)

    done = await job_row(db, row["job_id"])
    assert (done["state"], done["result"], done["progress"]) == ("succeeded", RESULT, 100)
    assert (done["attempts"], done["delivery"], done["last_error"]) == (1, 1, None)
    assert (done["endpoint"], done["chat_calls_left"]) == (None, 0)
    assert done["finished_at"] is not None
    assert await outbox_of(db, row) == []
    assert await db.fetch_dicts("SELECT team, priority, draft_reply, embedding_version FROM tickets") == [RESULT]
    [ticket] = await db.fetch_dicts("SELECT embedding::text FROM tickets")
    assert ticket["embedding"].startswith("[1,2,3,")
    assert await db.fetch_dicts("SELECT name FROM job_steps WHERE output IS NOT NULL") == []


async def test_failing_then_reason_is_kept_and_nothing_is_announced(db: Database) -> None:
    row = await running(db)

    assert await send(db, "fail", row)

    failed = await job_row(db, row["job_id"])
    assert (failed["state"], failed["attempts"], failed["delivery"], failed["result"]) == ("failed", 1, 1, None)
    assert error_of(failed) == (TROUBLE.code, TROUBLE.message, 1)
    assert failed["finished_at"] is not None
    assert await outbox_of(db, row) == []


@pytest.mark.parametrize(("arrow", "attempts"), [("retry_later", 1), ("give_back", 0)])
async def test_going_back_then_it_waits_and_is_announced_under_a_new_number(
    db: Database, arrow: str, attempts: int
) -> None:
    row = await running(db)

    assert await send(db, arrow, row)

    back = await job_row(db, row["job_id"])
    assert (back["state"], back["attempts"], back["delivery"]) == ("queued", attempts, row["delivery"] + 1)
    assert (back["finished_at"], back["announced_at"]) == (None, None)
    [past] = await db.fetch_dicts("SELECT ended_at FROM job_runs")
    assert abs(back["run_after"] - past["ended_at"] - timedelta(seconds=7)) < timedelta(seconds=0.5)
    [announcement] = await outbox_of(db, row)
    assert announcement == {
        "queue": "tickets",
        "purpose": "work",
        "delivery": back["delivery"],
        "due_at": back["run_after"],
        "claimed_until": None,
        "attempts": 0,
    }


async def test_giving_back_without_an_error_then_the_last_one_stays(db: Database) -> None:
    row = await running(db)
    await send(db, "retry_later", row)
    await send(db, "claim", await job_row(db, row["job_id"]))
    before = await job_row(db, row["job_id"])

    await send(db, "give_back", before)

    after = await job_row(db, row["job_id"])
    assert after["last_error"] == before["last_error"]
    assert await runs_of(db, row["job_id"]) == [(1, 1, "retry"), (2, 2, "quota")]


async def test_dead_lettering_then_its_poison_message_is_in_the_outbox(db: Database) -> None:
    row = await running(db)

    assert await send(db, "dead_letter", row)

    dead = await job_row(db, row["job_id"])
    assert (dead["state"], dead["attempts"], dead["delivery"]) == ("dead_letter", 1, row["delivery"] + 1)
    assert error_of(dead) == (TROUBLE.code, TROUBLE.message, 1)
    assert dead["finished_at"] is not None
    assert (dead["poison_message_id"], dead["poison_put_at"]) == (None, None)
    [letter] = await outbox_of(db, row)
    assert (letter["purpose"], letter["delivery"]) == ("poison", dead["delivery"])
    assert letter["due_at"] <= dead["finished_at"] + timedelta(seconds=0.5)


@pytest.mark.parametrize("arrow", ["retry_later", "give_back", "dead_letter"])
async def test_going_anywhere_but_to_an_end_when_cancel_is_requested_then_cancelled(db: Database, arrow: str) -> None:
    row = await running(db)
    await db.execute("UPDATE jobs SET cancel_requested = true")

    assert await send(db, arrow, row)

    cancelled = await job_row(db, row["job_id"])
    assert (cancelled["state"], cancelled["result"]) == ("cancelled", None)
    assert cancelled["finished_at"] is not None
    assert await outbox_of(db, row) == []
    assert await runs_of(db, row["job_id"]) == [(1, 1, "cancelled")]


@pytest.mark.parametrize(("arrow", "state"), [("succeed", "succeeded"), ("fail", "failed")])
async def test_ending_when_cancel_is_requested_then_the_end_stands(db: Database, arrow: str, state: str) -> None:
    row = await running(db)
    await db.execute("UPDATE jobs SET cancel_requested = true")

    assert await send(db, arrow, row)

    assert (await job_row(db, row["job_id"]))["state"] == state


@pytest.mark.parametrize(("waited_s", "counted_s"), [(0.0, 40.0), (30.0, 10.0), (500.0, 0.0)])
@pytest.mark.parametrize("arrow", ["retry_later", "fail", "succeed", "dead_letter", "give_back"])
async def test_leaving_then_running_time_grows_by_what_was_not_waiting(
    db: Database, arrow: str, waited_s: float, counted_s: float
) -> None:
    row = await running(db)
    await db.execute("UPDATE jobs SET ran_s = 100, run_started_at = now() - interval '40 seconds'")
    claim = claim_of(row)
    match arrow:
        case "retry_later":
            await leave.retry_later(db, claim, TROUBLE, wait_s=0, waited_s=waited_s)
        case "give_back":
            await leave.give_back(db, claim, "quota", wait_s=0, waited_s=waited_s)
        case "dead_letter":
            await leave.dead_letter(db, claim, TROUBLE, waited_s=waited_s)
        case "fail":
            await leave.fail(db, claim, TROUBLE, waited_s=waited_s)
        case _:
            await leave.succeed(db, claim, RESULT, publish="", waited_s=waited_s)

    ran_s = (await job_row(db, row["job_id"]))["ran_s"]
    assert 100 + counted_s <= ran_s < 100 + counted_s + 2
