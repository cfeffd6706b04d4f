"""What a caller may say about a report, and which tickets it is about then."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from shared.wiring import App
from tests.front import Front
from tests.report_orders import ASKED, finished, opened, send
from tests.stage import Mailroom


async def test_period_when_given_then_only_its_tickets_are_read(front: Front, app: App, mailroom: Mailroom) -> None:
    first_day, next_day = datetime.fromisoformat("2026-03-01T00:00:01Z"), datetime.fromisoformat("2026-03-03T00:00:01Z")
    inside = await send(app.db, at=first_day) + await send(app.db, at=next_day.replace(second=0, day=2, hour=12))
    await send(app.db, at=first_day.replace(second=0))
    await send(app.db, at=next_day)
    await send(app.db, at=first_day, workspace_id="team_7")
    _, numbers = await finished(front, app, mailroom, input={"from": "2026-03-01", "to": "2026-03-02"})
    assert numbers["period"] == {"from": "2026-03-01T00:00:00.000Z", "to": "2026-03-03T00:00:00.000Z"}
    assert numbers["by_day"] == {"2026-03-01": 1, "2026-03-02": 1}
    [problem] = numbers["problems"]
    assert sorted(problem["examples"]) == sorted(inside)


async def test_tickets_when_more_than_asked_for_then_the_newest_are_read(
    front: Front, app: App, mailroom: Mailroom
) -> None:
    newest, *_ = await send(app.db, how_many=30)
    job, numbers = await finished(front, app, mailroom, input={"max_tickets": 1})
    assert (numbers["tickets"], numbers["tickets_in_period"]) == (1, 30)
    assert numbers["problems"][0]["examples"] == [newest]
    assert "30 tickets came in this period" in await opened(front, job, "report.html")


async def test_tickets_when_not_classified_then_counted_as_that(front: Front, app: App, mailroom: Mailroom) -> None:
    await send(app.db, how_many=2)
    await send(app.db, how_many=3, team=None, priority=None)
    _, numbers = await finished(front, app, mailroom)
    assert (numbers["by_team"]["billing"], numbers["by_team"]["unclassified"]) == (2, 3)
    assert (numbers["by_priority"]["1"], numbers["by_priority"]["unclassified"]) == (2, 3)


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"from": "yesterday"}, {"input.from"}),
        ({"to": 5}, {"input.to"}),
        ({"from": "2026-03-02", "to": "2026-03-01"}, {"input.from"}),
        ({"from": "2024-01-01", "to": "2026-01-01"}, {"input.from"}),
        ({"max_tickets": 10_001}, {"input.max_tickets"}),
        ({"since": "2026-03-02"}, {"input.since"}),
    ],
)
async def test_input_when_it_makes_no_sense_then_refused_by_name(
    front: Front, app: App, given: dict[str, Any], fields: set[str]
) -> None:
    refused = await front.post("/v1/jobs", ASKED | {"input": given})
    assert (refused.status, refused.fields) == (422, fields)
    assert await app.db.fetch_dict("SELECT count(*) AS jobs FROM jobs") == {"jobs": 0}
