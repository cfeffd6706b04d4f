"""Every arrow of the state machine under one name, to be sent at a job in any state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar
from uuid import uuid4

from shared.db import Database, Row
from shared.jobs import approvals, dead_letters, leave, people, rescue
from shared.jobs import claim as claims
from shared.jobs.claim import Claim, Needs
from shared.jobs.dead_letters import Those
from shared.jobs.states import JobError
from shared.kinds import ticket
from shared.queues import outbox
from shared.queues.outbox import Letter
from tests.stage import SEED, job_row

STATES = ("queued", "running", "waiting_for_approval", "succeeded", "failed", "cancelled", "dead_letter")
RESULT = {"team": "billing", "priority": 2, "draft_reply": "Sorry!", "embedding_version": "embed-small-384-v1"}
TROUBLE = JobError("provider_unavailable", "The provider answered 503.")
STEP = {"team": "billing", "priority": 2}

Arrow = Callable[[Database, Row], Awaitable[object]]
Made = TypeVar("Made")


def claim_of(row: Row) -> Claim:
    """The claim of the worker that holds this row, or would if it were running."""
    return _made(Claim, row | {"saved": {}})


async def _claim(db: Database, row: Row) -> object:
    return await claims.claim(db, row["job_id"], row["delivery"], uuid4(), lease_s=30)


async def _succeed(db: Database, row: Row) -> object:
    return await leave.succeed(db, claim_of(row), RESULT, publish=ticket.KIND.publish, waited_s=0)


async def _fail(db: Database, row: Row) -> object:
    return await leave.fail(db, claim_of(row), TROUBLE, waited_s=0)


async def _retry_later(db: Database, row: Row) -> object:
    return await leave.retry_later(db, claim_of(row), TROUBLE, wait_s=7, waited_s=0)


async def _give_back(db: Database, row: Row) -> object:
    return await leave.give_back(db, claim_of(row), "quota", wait_s=7, waited_s=0)


async def _dead_letter(db: Database, row: Row) -> object:
    return await leave.dead_letter(db, claim_of(row), TROUBLE, waited_s=0)


async def _wait_for_approval(db: Database, row: Row) -> object:
    return await leave.wait_for_approval(db, claim_of(row), "approve", (), ttl_s=3600, waited_s=0)


async def _approve(db: Database, row: Row) -> object:
    return await approvals.approve(db, row["job_id"], "Ada", None)


async def _reject(db: Database, row: Row) -> object:
    return await approvals.reject(db, row["job_id"], "Ada", None)


async def _cancel(db: Database, row: Row) -> object:
    return await people.cancel(db, row["job_id"])


async def _retry(db: Database, row: Row) -> object:
    return await people.retry(db, row["job_id"])


async def _retry_by_message(db: Database, row: Row) -> object:
    return await people.retry_by_message(db, row["job_id"], row["delivery"])


async def _undeliverable(db: Database, row: Row) -> object:
    """For a job in any state: with an outbox row that still names its number."""
    await db.execute("DELETE FROM outbox WHERE job_id = %(job_id)s AND purpose = 'work'", {"job_id": row["job_id"]})
    found = await db.fetch_dict(
        "INSERT INTO outbox (queue, purpose, job_id, delivery) VALUES ('tickets', 'work', %(job_id)s, %(delivery)s)"
        " RETURNING outbox_id",
        {"job_id": row["job_id"], "delivery": row["delivery"]},
    )
    assert found is not None
    return await outbox.undeliverable(db, _made(Letter, row | found | {"puts": 5}), "queue tickets refused the message")


async def _save_step(db: Database, row: Row) -> object:
    return await claims.save_step(db, claim_of(row), "classify", 0, STEP, Needs(33, "chat", 1))


async def _extend(db: Database, row: Row) -> object:
    return await claims.extend(db, [(row["job_id"], row["run"])], lease_s=300)


async def _lose(db: Database, row: Row) -> object:
    """With a lease that ran out, if there is one."""
    await db.execute("UPDATE jobs SET locked_until = now() - interval '1 second' WHERE state = 'running'")
    return await rescue.lose(db, lease_s=30, base_s=2, cap_s=60, limit=10)


async def _announce_again(db: Database, row: Row) -> object:
    """With a message that was put an hour ago, if the job waits for one."""
    await db.execute("UPDATE jobs SET announced_at = now() - interval '1 hour' WHERE state = 'queued'")
    return await rescue.announce_again(db, row["queue"], queue_is_empty=True, patience_s=30, limit=10)


async def _discard(db: Database, row: Row) -> object:
    return await dead_letters.discard(db, row["job_id"], "Ada")


async def _retry_many(db: Database, row: Row) -> object:
    redriven = await dead_letters.retry_many(db, Those(), limit=10)
    return redriven.job_ids


ARROWS: Mapping[str, Arrow] = {
    "claim": _claim,
    "succeed": _succeed,
    "fail": _fail,
    "retry_later": _retry_later,
    "give_back": _give_back,
    "dead_letter": _dead_letter,
    "wait_for_approval": _wait_for_approval,
    "approve": _approve,
    "reject": _reject,
    "cancel": _cancel,
    "retry": _retry,
    "retry_by_message": _retry_by_message,
    "undeliverable": _undeliverable,
    "lose": _lose,
    "announce_again": _announce_again,
    "discard": _discard,
    "retry_many": _retry_many,
    "save_step": _save_step,
    "extend": _extend,
}

_WAYS: Mapping[str, tuple[str, ...]] = {
    "queued": (),
    "running": ("claim",),
    "waiting_for_approval": ("claim", "wait_for_approval"),
    "succeeded": ("claim", "succeed"),
    "failed": ("claim", "fail"),
    "cancelled": ("cancel",),
    "dead_letter": ("claim", "dead_letter"),
}


async def send(db: Database, arrow: str, row: Row) -> bool:
    """Send an arrow at a job that looked like `row` when last seen; whether it says that the job moved."""
    return bool(await ARROWS[arrow](db, row))


async def reach(db: Database, state: str) -> Row:
    """The row of a new job, brought into `state` by arrows."""
    seeded = await db.fetch_dict(SEED)
    assert seeded is not None
    job_id: int = seeded["job_id"]
    for arrow in _WAYS[state]:
        assert await send(db, arrow, await job_row(db, job_id))
    row = await job_row(db, job_id)
    assert row["state"] == state
    return row


async def everything(db: Database, *, but_outbox: bool = False) -> list[Row]:
    """All that the database holds about jobs and tickets."""
    return await db.fetch_dicts(
        "SELECT 'jobs' AS source, to_jsonb(jobs) AS held FROM jobs"
        " UNION ALL SELECT 'runs', to_jsonb(job_runs) FROM job_runs"
        " UNION ALL SELECT 'steps', to_jsonb(job_steps) FROM job_steps"
        " UNION ALL SELECT 'questions', to_jsonb(approvals) FROM approvals"
        " UNION ALL SELECT 'tickets', to_jsonb(tickets) FROM tickets"
        " UNION ALL SELECT 'outbox', to_jsonb(outbox) FROM outbox WHERE NOT %(but_outbox)s"
        " ORDER BY 1, 2",
        {"but_outbox": but_outbox},
    )


def _made(kind: type[Made], values: Mapping[str, Any]) -> Made:
    """A dataclass from a row that has more columns than it has fields."""
    known = {"age_s": 0.0, **values}  # age_s is worked out by the statement that reads it
    return kind(**{field.name: known[field.name] for field in fields(kind)})  # type: ignore[arg-type]  # any dataclass
