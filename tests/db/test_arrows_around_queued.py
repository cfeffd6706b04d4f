"""What the arrows into running, out of queued and by people write."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from shared.db import Database
from shared.jobs import claim as claims
from tests.db.arrows import STEP, reach, send
from tests.stage import job_row, runs_of


async def test_claiming_then_attempt_run_lease_and_history_are_there(db: Database) -> None:
    row = await reach(db, "queued")
    await db.execute("UPDATE jobs SET announced_at = now(), unclaimed = 3")

    assert await send(db, "claim", row)

    running = await job_row(db, row["job_id"])
    assert (running["state"], running["attempts"], running["run"], running["delivery"]) == ("running", 1, 1, 1)
    assert (running["announced_at"], running["unclaimed"]) == (None, 0)
    assert running["claim_id"] is not None
    assert running["started_at"] >= row["created_at"]
    assert abs(running["locked_until"] - running["run_started_at"] - timedelta(seconds=30)) < timedelta(seconds=1)
    assert await runs_of(db, row["job_id"]) == [(1, 1, None)]


async def test_claiming_again_then_run_rises_first_start_stays_and_saved_steps_are_handed_over(db: Database) -> None:
    first = await reach(db, "running")
    await send(db, "save_step", first)
    await send(db, "give_back", first)
    back = await job_row(db, first["job_id"])

    claim = await claims.claim(db, back["job_id"], back["delivery"], uuid4(), lease_s=30)

    assert claim is not None
    assert (claim.run, claim.attempts, claim.saved) == (2, 1, {"classify": STEP})
    second = await job_row(db, first["job_id"])
    assert second["started_at"] == first["started_at"]
    assert second["run_started_at"] > first["run_started_at"]
    assert await runs_of(db, first["job_id"]) == [(1, 1, "quota"), (2, 1, None)]


async def test_claiming_when_its_answer_was_lost_then_same_id_finds_the_same_run(db: Database) -> None:
    row = await reach(db, "queued")
    claim_id = uuid4()
    first = await claims.claim(db, row["job_id"], row["delivery"], claim_id, lease_s=30)

    second = await claims.claim(db, row["job_id"], row["delivery"], claim_id, lease_s=30)

    assert first is not None
    assert first == second
    assert await runs_of(db, row["job_id"]) == [(1, 1, None)]


async def test_claiming_when_that_run_is_over_then_same_id_finds_nothing(db: Database) -> None:
    row = await reach(db, "queued")
    claim_id = uuid4()
    await claims.claim(db, row["job_id"], row["delivery"], claim_id, lease_s=30)
    await send(db, "give_back", await job_row(db, row["job_id"]))

    assert await claims.claim(db, row["job_id"], row["delivery"], claim_id, lease_s=30) is None


@pytest.mark.parametrize("state", ["queued", "waiting_for_approval"])
async def test_cancelling_then_it_ends_without_result_or_message(db: Database, state: str) -> None:
    row = await reach(db, state)
    if state == "queued":
        await db.execute("UPDATE jobs SET announced_at = now()")

    assert await send(db, "cancel", row)

    cancelled = await job_row(db, row["job_id"])
    assert (cancelled["state"], cancelled["announced_at"], cancelled["result"]) == ("cancelled", None, None)
    assert cancelled["finished_at"] is not None
    assert (cancelled["attempts"], cancelled["run"]) == (row["attempts"], row["run"])
    assert await db.fetch_dicts("SELECT 1 AS one FROM outbox WHERE purpose = 'poison'") == []


@pytest.mark.parametrize(
    ("arrow", "state"), [("retry", "failed"), ("retry", "dead_letter"), ("retry_by_message", "dead_letter")]
)
async def test_retrying_then_budget_is_fresh_steps_are_kept_and_a_new_number_is_announced(
    db: Database, arrow: str, state: str
) -> None:
    row = await reach(db, "running")
    await send(db, "save_step", row)
    await send(db, {"failed": "fail", "dead_letter": "dead_letter"}[state], row)
    await db.execute("DELETE FROM outbox")
    await db.execute("UPDATE jobs SET ran_s = 90, losses = 2, cancel_requested = true")
    if state == "dead_letter":
        await db.execute("UPDATE jobs SET poison_message_id = 'm', poison_put_at = now()")
    ended = await job_row(db, row["job_id"])

    assert await send(db, arrow, ended)

    again = await job_row(db, row["job_id"])
    assert (again["state"], again["attempts"], again["run"], again["delivery"]) == (
        "queued",
        0,
        ended["run"],
        ended["delivery"] + 1,
    )
    assert (again["ran_s"], again["losses"], again["cancel_requested"], again["finished_at"]) == (0, 0, False, None)
    assert (again["poison_message_id"], again["poison_put_at"]) == (None, None)
    assert (again["progress"], again["chat_calls_left"]) == (33, 1)
    [announcement] = await db.fetch_dicts("SELECT purpose, delivery, due_at FROM outbox")
    assert announcement == {"purpose": "work", "delivery": again["delivery"], "due_at": again["run_after"]}
    claim = await claims.claim(db, again["job_id"], again["delivery"], uuid4(), lease_s=30)
    assert claim is not None
    assert (claim.run, claim.attempts, claim.ran_s, claim.saved) == (2, 1, 0, {"classify": STEP})


async def test_being_undeliverable_then_failed_with_its_reason(db: Database) -> None:
    row = await reach(db, "queued")

    assert await send(db, "undeliverable", row)

    failed = await job_row(db, row["job_id"])
    assert (failed["state"], failed["attempts"], failed["run"]) == ("failed", 0, 0)
    assert failed["last_error"]["code"] == "undeliverable"
    assert failed["last_error"]["message"] == "queue tickets refused the message"
    assert failed["finished_at"] is not None
    assert await db.fetch_dicts("SELECT 1 AS one FROM outbox") == []
