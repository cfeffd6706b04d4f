"""Cancel, retry and discard over HTTP: 200 and the job, or 409 that says why, and the rows agree."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shared.wiring import App
from shared.worker import Worker
from tests.db.arrows import STATES, everything, reach, send
from tests.front import Front
from tests.stage import Mailroom, accept, announce, finish, hasten, job_row, runs_of

ALLOWED = {
    "cancel": {"queued", "waiting_for_approval"},
    "retry": {"dead_letter", "failed"},
    "discard": {"dead_letter"},
}
AFTER = {"cancel": "cancelled", "retry": "queued", "discard": "failed"}


async def ask(front: Front, call: str, job_id: int) -> tuple[int, dict[str, Any]]:
    """Status and body of a person's call."""
    answer = await front.post(f"/v1/jobs/{job_id}/{call}", {"discarded_by": "Ada"} if call == "discard" else None)
    return answer.status, answer.error if answer.status == 409 else answer.json()


@pytest.mark.parametrize("call", ALLOWED)
async def test_call_when_the_state_does_not_allow_it_then_409_that_names_the_state_and_nothing_changes(
    app: App, front: Front, call: str
) -> None:
    for state in STATES:
        if state in ALLOWED[call]:
            continue
        row = await reach(app.db, state)
        before = await everything(app.db)

        status, error = await ask(front, call, row["job_id"])

        assert (status, error["code"]) == (409, "conflict"), state
        assert error["message"].startswith(f"Job {row['job_id']} is ")
        assert state.replace("_", " ") in error["message"]
        await app.kick.stop()
        assert await everything(app.db) == before


@pytest.mark.parametrize("call", ALLOWED)
async def test_call_when_the_state_allows_it_then_200_with_the_job_and_409_the_second_time(
    app: App, front: Front, call: str
) -> None:
    for state in sorted(ALLOWED[call]):
        row = await reach(app.db, state)
        status, job = await ask(front, call, row["job_id"])
        assert (status, job["job_id"], job["state"]) == (200, row["job_id"], AFTER[call])
        if call == "discard":
            assert (job["discarded_by"], job["last_error"]["code"]) == ("Ada", "provider_unavailable")
            assert job["discarded_at"] is not None
        assert (await ask(front, call, row["job_id"]))[0] == 409


async def test_cancel_when_refused_then_it_says_it_as_the_contract_does(app: App, front: Front) -> None:
    row = await reach(app.db, "cancelled")
    _, error = await ask(front, "cancel", row["job_id"])
    assert error["message"] == f"Job {row['job_id']} is cancelled: only a queued job can be cancelled."


async def test_cancel_when_the_relay_did_not_run_yet_then_no_message_goes_out(
    app: App, front: Front, mailroom: Mailroom
) -> None:
    job_id = await accept(app)
    await ask(front, "cancel", job_id)
    assert await announce(app, mailroom) == []
    assert await app.db.fetch_dicts("SELECT 1 AS one FROM outbox") == []


async def test_cancel_when_in_a_retry_wait_then_the_retry_does_not_come(
    app: App, front: Front, mailroom: Mailroom
) -> None:
    row = await reach(app.db, "running")
    await send(app.db, "retry_later", row)
    assert (await ask(front, "cancel", row["job_id"]))[0] == 200
    await hasten(app.db)
    assert await announce(app, mailroom) == []
    assert (await job_row(app.db, row["job_id"]))["state"] == "cancelled"


async def test_retry_when_asked_for_then_the_job_is_worked_again(
    app: App, front: Front, mailroom: Mailroom, worker: Worker
) -> None:
    row = await reach(app.db, "failed")
    await ask(front, "retry", row["job_id"])
    await app.kick.settled()
    await finish(app, mailroom, worker)
    assert await runs_of(app.db, row["job_id"]) == [(1, 1, "failed"), (2, 1, "succeeded")]


async def test_discard_when_nobody_signs_then_422(app: App, front: Front) -> None:
    row = await reach(app.db, "dead_letter")
    names: tuple[object, ...] = ("", " ", "\0", "\ud800", 1, None)
    for body in ({}, {"who": "Ada"}, *[{"discarded_by": name} for name in names]):
        answer = await front.post(f"/v1/jobs/{row['job_id']}/discard", body)
        assert (answer.status, answer.error["code"]) == (422, "validation_error"), body
    assert (await job_row(app.db, row["job_id"]))["state"] == "dead_letter"


async def test_dead_letters_when_retried_by_a_filter_then_oldest_first_and_the_rest_is_told(
    app: App, front: Front
) -> None:
    dead = [(await reach(app.db, "dead_letter"))["job_id"] for _ in range(3)]
    failed = (await reach(app.db, "failed"))["job_id"]

    answer = await front.post("/v1/dead-letters/retry", {"limit": 2, "error_code": "provider_unavailable"})

    assert (answer.status, answer.json()) == (200, {"retried": 2, "remaining": 1})
    states = [(await job_row(app.db, job_id))["state"] for job_id in (*dead, failed)]
    assert states == ["queued", "queued", "dead_letter", "failed"]
    for body, expected in (
        ({"error_code": "bad_answer"}, {"retried": 0, "remaining": 0}),
        ({"kind": "support_report"}, {"retried": 0, "remaining": 0}),
        ({"state": "failed", "kind": "ticket"}, {"retried": 1, "remaining": 0}),
        (None, {"retried": 1, "remaining": 0}),
        (None, {"retried": 0, "remaining": 0}),
    ):
        assert (await front.post("/v1/dead-letters/retry", body)).json() == expected, body


async def test_dead_letters_when_only_counted_then_all_that_match_are_told_and_none_is_touched(
    app: App, front: Front
) -> None:
    for _ in range(3):
        await reach(app.db, "dead_letter")
    await reach(app.db, "failed")
    for filters, found in (
        ({}, 3),
        ({"limit": 1}, 3),
        ({"error_code": "provider_unavailable", "kind": "ticket", "workspace_id": "team_42"}, 3),
        ({"workspace_id": "team_7"}, 0),
        ({"error_code": "bad_answer"}, 0),
        ({"state": "failed"}, 1),
    ):
        answer = await front.post("/v1/dead-letters/retry", filters | {"dry_run": True})
        assert (answer.status, answer.json()) == (200, {"retried": 0, "remaining": found}), filters
    states = await app.db.fetch_dicts("SELECT state, count(*) AS jobs FROM jobs GROUP BY state ORDER BY state")
    assert states == [{"state": "dead_letter", "jobs": 3}, {"state": "failed", "jobs": 1}]
    assert (await front.post("/v1/dead-letters/retry", {"workspace_id": "team_7"})).json()["retried"] == 0


async def test_dead_letters_when_the_filter_is_bad_then_422_and_nothing_is_retried(app: App, front: Front) -> None:
    await reach(app.db, "dead_letter")
    bad: list[object] = [
        *({"limit": limit} for limit in (0, -1, 1.5, "5", 10**30)),
        *({"state": "queued"}, {"kind": "\0"}, {"error_code": 7}, {"more": 1}, []),
        *({"dry_run": "yes"}, {"workspace_id": "Team"}),
    ]
    for body in bad:
        answer = await front.post("/v1/dead-letters/retry", body)
        assert (answer.status, answer.error["code"]) == (422, "validation_error"), body
    assert await app.db.fetch_dicts("SELECT state FROM jobs") == [{"state": "dead_letter"}]


async def test_dead_letters_when_two_people_retry_them_at_once_then_each_goes_once(app: App, front: Front) -> None:
    for _ in range(12):
        await reach(app.db, "dead_letter")
    answers = await asyncio.gather(*(front.post("/v1/dead-letters/retry") for _ in range(4)))
    assert sum(answer.json()["retried"] for answer in answers) == 12
    assert await app.db.fetch_dicts("SELECT state, delivery, count(*) AS jobs FROM jobs GROUP BY 1, 2") == [
        {"state": "queued", "delivery": 3, "jobs": 12}
    ]
