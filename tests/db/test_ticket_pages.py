"""The tickets of a period: frozen, counted and paged by the database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shared import ticket_pages
from shared.db import Database
from shared.ticket_pages import TEXT_LIMIT, Taken
from tests.report_orders import send

EVER = datetime(2026, 1, 1, tzinfo=UTC)


async def take(
    db: Database, *, since: str | None = None, until: str | None = None, max_tickets: int = 10_000, page_size: int = 25
) -> Taken:
    return await ticket_pages.take(
        db, "team_42", since=since, until=until, max_tickets=max_tickets, page_size=page_size
    )


async def test_period_when_nothing_is_given_then_the_seven_days_before_the_databases_now(db: Database) -> None:
    row = await db.fetch_dict("SELECT now() - interval '7 days' AS begin")
    assert row is not None
    await send(db, at=row["begin"])
    await send(db, at=row["begin"] + timedelta(minutes=1))
    await send(db)
    taken = await take(db)
    assert taken.until - taken.since == timedelta(days=7)
    assert timedelta() <= taken.since - row["begin"] < timedelta(seconds=30)
    assert taken.until == taken.taken_at
    assert (taken.tickets, taken.in_period) == (2, 2)


async def test_period_when_only_its_end_is_given_then_seven_days_before_that(db: Database) -> None:
    taken = await take(db, until="2026-03-08T00:00:00Z")
    assert taken.since == datetime(2026, 3, 1, tzinfo=UTC)


async def test_period_when_it_begins_after_its_end_then_empty(db: Database) -> None:
    await send(db)
    taken = await take(db, since="9000-01-01T00:00:00Z")
    assert (taken.tickets, taken.in_period, taken.pages, taken.by_day, taken.by_team) == (0, 0, [], {}, {})


async def test_tickets_when_ten_thousand_then_in_pages_that_hold_each_of_the_newest_once(db: Database) -> None:
    await db.execute("SELECT setval(pg_get_serial_sequence('tickets', 'ticket_id'), 1000000, false)")
    names = await send(db, how_many=10_001, at=EVER + timedelta(days=3))
    await send(db, how_many=3, at=EVER, workspace_id="team_7")
    taken = await take(db, since=EVER.isoformat(), until=(EVER + timedelta(days=3)).isoformat())
    assert (taken.tickets, taken.in_period, len(taken.pages)) == (10_000, 10_001, 400)
    ids = [number for page in taken.pages for number in page]
    assert ids == sorted(ids)
    assert {f"T-{number}" for number in ids} == set(names[:-1])
    assert max(len(page) for page in taken.pages) == 25
    for split in (taken.by_team, taken.by_priority, taken.by_channel, taken.by_day):
        assert sum(split.values()) == 10_000
    assert taken.by_day == {"2026-01-03": 10_000}


async def test_texts_when_long_then_cut_and_only_those_of_the_workspace(db: Database) -> None:
    [own, gone] = await send(db, "Subject", "é" * 5000, how_many=2)
    [strange] = await send(db, "Other", workspace_id="team_7")
    ids = [int(name[2:]) for name in (strange, gone, own)]
    await db.execute("DELETE FROM tickets WHERE ticket_id = %(id)s", {"id": int(gone[2:])})
    [row] = await ticket_pages.texts(db, "team_42", ids)
    assert (f"T-{row.ticket_id}", row.subject, row.text) == (own, "Subject", "é" * TEXT_LIMIT)
