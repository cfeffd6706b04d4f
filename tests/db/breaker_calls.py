"""Calls as the gate makes them, and what the breakers' rows say afterwards."""

from __future__ import annotations

from uuid import UUID, uuid4

from shared.db import Database, Row
from shared.provider import breaker as breakers
from shared.provider.breaker import Breaker, Entry
from shared.provider.client import Endpoint

WHY = "provider_unavailable: The provider answered 503."


class Call:
    """One call as the gate makes it: asks, and tells what came of it."""

    def __init__(self, breaker: Breaker) -> None:
        self.breaker = breaker
        self.call_id: UUID = uuid4()
        self.entry: Entry | None = None

    async def begin(self) -> bool:
        self.entry = await self.breaker.enter(self.call_id)
        return self.entry.may_call

    async def succeed(self) -> None:
        assert self.entry is not None
        await self.breaker.succeeded(self.call_id, self.entry)

    async def fail(self, *, at_once: bool = False, why: str = WHY) -> bool:
        assert self.entry is not None
        return await self.breaker.failed(self.call_id, self.entry, why, at_once=at_once)


async def begun(breaker: Breaker) -> Call:
    call = Call(breaker)
    assert await call.begin()
    return call


async def fail_once(breaker: Breaker) -> bool:
    return await (await begun(breaker)).fail()


async def state(db: Database, endpoint: Endpoint = "chat") -> str:
    [row] = [row for row in await breakers.states(db) if row["endpoint"] == endpoint]
    found: str = row["state"]
    return found


async def let_pass(db: Database, seconds: float) -> None:
    """Make everything that the breakers remember so many seconds older."""
    await db.execute(
        "UPDATE provider_breakers SET opened_at = opened_at - x.s, retry_at = retry_at - x.s,"
        " trial_until = trial_until - x.s, last_success_at = last_success_at - x.s,"
        " out_until = ARRAY(SELECT u - x.s FROM unnest(out_until) AS u)"
        " FROM (SELECT %(seconds)s * interval '1 second' AS s) AS x",
        {"seconds": seconds},
    )


async def opened(db: Database, chat: Breaker, *, half: bool = False) -> None:
    for _ in range(chat.threshold):
        await fail_once(chat)
    if half:
        await let_pass(db, chat.cool_down_s)
    assert await state(db) == ("half_open" if half else "open")


async def row_of(db: Database) -> Row:
    row = await db.fetch_dict(
        "SELECT *, extract(epoch FROM retry_at - opened_at)::float8 AS cools_s FROM provider_breakers"
        " WHERE endpoint = 'chat'"
    )
    assert row is not None
    return row
