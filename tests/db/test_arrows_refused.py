"""Arrows that a state does not have change nothing, and neither do arrows of a run that is over."""

from __future__ import annotations

import pytest

from shared.db import Database
from tests.db.arrows import ARROWS, STATES, everything, reach, send
from tests.stage import job_row

ALLOWED = {
    "claim": {"queued"},
    "succeed": {"running"},
    "fail": {"running"},
    "retry_later": {"running"},
    "give_back": {"running"},
    "dead_letter": {"running"},
    "wait_for_approval": {"running"},
    "approve": {"waiting_for_approval"},
    "reject": {"waiting_for_approval"},
    "cancel": {"queued", "waiting_for_approval"},
    "retry": {"failed", "dead_letter"},
    "retry_by_message": {"dead_letter"},
    "undeliverable": {"queued"},
    "lose": {"running"},
    "announce_again": {"queued"},
    "discard": {"dead_letter"},
    "retry_many": {"dead_letter"},
    "save_step": {"running"},
    "extend": {"running"},
}
FENCED = sorted({arrow for arrow, states in ALLOWED.items() if states == {"running"}} - {"lose"})
AGAIN_AND_AGAIN = ("save_step", "extend", "announce_again")


@pytest.mark.parametrize("arrow", ARROWS)
async def test_arrow_when_a_state_has_none_then_nothing_changes(db: Database, arrow: str) -> None:
    # The row of an undeliverable message goes, whatever the job is: it is out of date.
    but_outbox = arrow == "undeliverable"
    for state in STATES:
        if state in ALLOWED[arrow]:
            continue
        row = await reach(db, state)
        before = await everything(db, but_outbox=but_outbox)

        assert not await send(db, arrow, row), state

        assert await everything(db, but_outbox=but_outbox) == before, state


@pytest.mark.parametrize("arrow", ARROWS)
async def test_arrow_when_a_state_has_it_then_it_moves_just_once(db: Database, arrow: str) -> None:
    for state in ALLOWED[arrow]:
        row = await reach(db, state)

        assert await send(db, arrow, row), state

        moved = await job_row(db, row["job_id"])
        assert moved != row
        if arrow not in AGAIN_AND_AGAIN:
            assert not await send(db, arrow, row), state
            assert await job_row(db, row["job_id"]) == moved


@pytest.mark.parametrize("arrow", FENCED)
async def test_arrow_when_sent_by_an_earlier_run_then_nothing_changes(db: Database, arrow: str) -> None:
    first = await reach(db, "running")
    await send(db, "give_back", first)
    await send(db, "claim", await job_row(db, first["job_id"]))
    second = await job_row(db, first["job_id"])
    assert (first["run"], second["run"], second["attempts"]) == (1, 2, first["attempts"])
    before = await everything(db)

    assert not await send(db, arrow, first)

    assert await everything(db) == before


@pytest.mark.parametrize("off", [-1, 1, 1000])
@pytest.mark.parametrize(("arrow", "state"), [("claim", "queued"), ("retry_by_message", "dead_letter")])
async def test_message_when_its_number_is_not_the_rows_then_nothing_changes(
    db: Database, arrow: str, state: str, off: int
) -> None:
    row = await reach(db, state)
    before = await everything(db)

    assert not await send(db, arrow, row | {"delivery": row["delivery"] + off})

    assert await everything(db) == before


@pytest.mark.parametrize("arrow", ["claim", "cancel", "retry", "retry_by_message", "extend"])
async def test_arrow_when_job_does_not_exist_then_nothing_happens(db: Database, arrow: str) -> None:
    assert not await send(db, arrow, {"job_id": 2**63 - 1, "delivery": 1, "run": 1})
    assert await everything(db) == []
