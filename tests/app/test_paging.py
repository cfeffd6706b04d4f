"""Lists: every row once, newest first, whatever the page size; parameters that cannot be are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from shared.wiring import App
from tests.db.arrows import reach
from tests.front import Front
from tests.stage import accept, job_row, seed

LISTS = {"/v1/tickets": "ticket_id", "/v1/jobs": "job_id"}
BAD_LIMITS = (
    *("0", "-1", "201", "1e3", "1.5", "1.0", "abc", "", "%20", "1%20", "+5", "0x10", "1_0", "true", "null"),
    *("9" * 19, "1" + "0" * 19, "9223372036854775807", "%D9%A3", "%00", "1%00", "1,2", "1;DROP TABLE jobs"),
)

BAD_FILTERS = {
    ("/v1/tickets", "ai_state"): ("", "done", "QUEUED", "%00", "queued,failed"),
    ("/v1/tickets", "team"): ("", "sales", "%00"),
    ("/v1/tickets", "customer_id"): ("", "C-1", "C-0022%0A", "%00", "%ED%A0%80"),
    ("/v1/jobs", "state"): ("", "done", "dead-letter"),
    ("/v1/jobs", "workspace_id"): ("", "Team", "%00", "x" * 65),
    ("/v1/jobs", "kind"): ("%00", "Ticket", "x" * 65),
    ("/v1/jobs", "error_code"): ("", "%00", "Timeout", "x" * 65),
    ("/v1/tickets", "workspace_id"): ("", "Team", "%00", "x" * 65),
}


async def pages(front: Front, path: str, limit: int) -> list[list[dict[str, Any]]]:
    """Follow `next` to the end."""
    found = []
    after = ""
    while True:
        answer = await front.get(f"{path}{'&' if '?' in path else '?'}limit={limit}{after}")
        assert answer.status == 200, answer
        assert set(answer.json()) == {"items", "next"}
        found.append(answer.json()["items"])
        if answer.json()["next"] is None:
            return found
        after = f"&after={answer.json()['next']}"


@pytest.mark.parametrize(("path", "key"), LISTS.items())
async def test_list_when_thirty_rows_are_of_one_transaction_then_pages_hold_each_once(
    database_url: str, front: Front, path: str, key: str
) -> None:
    await seed(database_url, 30)

    found = await pages(front, path, 7)

    assert [len(page) for page in found] == [7, 7, 7, 7, 2]
    ids = [int(str(row[key]).removeprefix("T-")) for page in found for row in page]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 30


@pytest.mark.parametrize(("path", "key"), LISTS.items())
async def test_list_when_a_row_comes_between_two_pages_then_none_is_repeated_or_lost(
    app: App, front: Front, path: str, key: str
) -> None:
    for _ in range(4):
        await accept(app)
    first = (await front.get(f"{path}?limit=2")).json()
    await accept(app)

    second = (await front.get(f"{path}?limit=2&after={first['next']}")).json()

    ids = [int(str(row[key]).removeprefix("T-")) % 500_000 for row in first["items"] + second["items"]]
    assert ids == [4, 3, 2, 1]
    assert second["next"] is None


@pytest.mark.parametrize("path", LISTS)
async def test_list_when_empty_or_just_full_then_there_is_no_next(app: App, front: Front, path: str) -> None:
    assert (await front.get(path)).json() == {"items": [], "next": None}
    await accept(app)
    await accept(app)
    answer = (await front.get(f"{path}?limit=2")).json()
    assert (len(answer["items"]), answer["next"]) == (2, None)


@pytest.mark.parametrize("path", LISTS)
async def test_list_when_limit_cannot_be_then_422_by_name(front: Front, path: str) -> None:
    surprises = {}
    for value in BAD_LIMITS:
        answer = await front.get(f"{path}?limit={value}")
        if answer.status != 422 or answer.fields != {"limit"} or b"SELECT" in answer.body:
            surprises[value] = answer
    assert surprises == {}
    for value in ("1", "200", "050"):
        assert (await front.get(f"{path}?limit={value}")).status == 200, value


@pytest.mark.parametrize(
    ("path", "cursors"),
    [
        ("/v1/tickets", ("", "0", "7", "T-", "T-0", "T-abc", "t-1", "T-1.5", "T-" + "9" * 20, "%00", "T-1%00", "-1")),
        ("/v1/jobs", ("", "0", "-1", "abc", "T-1", "1.5", "9" * 20, "%D9%A3", "%00", "1%20", "1%20OR%201=1")),
    ],
)
async def test_list_when_cursor_is_not_one_then_422_by_name(front: Front, path: str, cursors: tuple[str, ...]) -> None:
    for cursor in cursors:
        answer = await front.get(f"{path}?after={cursor}")
        assert (answer.status, answer.fields) == (422, {"after"}), cursor


async def test_list_when_a_filter_cannot_be_then_422_by_name(front: Front) -> None:
    for (path, field), values in BAD_FILTERS.items():
        for value in values:
            answer = await front.get(f"{path}?{field}={value}")
            assert (answer.status, answer.fields) == (422, {field}), (path, field, value)


async def test_list_when_parameters_are_unknown_then_they_are_ignored(app: App, front: Front) -> None:
    await accept(app)
    answer = await front.get("/v1/jobs?code=host-key&offset=-1&order=%00")
    assert [job["job_id"] for job in answer.json()["items"]] == [1]


async def test_list_when_filtered_then_only_what_fits_and_across_pages(app: App, front: Front) -> None:
    ada = [await accept(app) for _ in range(5)]
    ben = await accept(app, customer_id="C-0023")
    await front.post(f"/v1/jobs/{ada[0]}/cancel")

    async def jobs(filters: str) -> list[int]:
        return [row["job_id"] for page in await pages(front, f"/v1/jobs?{filters}", 2) for row in page]

    async def tickets(filters: str) -> list[int]:
        return [row["job_id"] for page in await pages(front, f"/v1/tickets?{filters}", 2) for row in page]

    assert await jobs("state=queued") == [ben, *reversed(ada[1:])]
    assert await jobs("state=cancelled") == [ada[0]]
    assert await jobs("workspace_id=team_7") == [ben]
    assert await jobs("kind=ticket&workspace_id=team_42&state=queued") == list(reversed(ada[1:]))
    assert await jobs("kind=support_report") == []
    assert await tickets("customer_id=C-0023") == [ben]
    assert await tickets("ai_state=cancelled") == [ada[0]]
    assert await tickets("team=billing") == []
    assert await tickets("workspace_id=team_7") == [ben]
    assert await tickets("workspace_id=team_42&ai_state=queued") == list(reversed(ada[1:]))
    assert await tickets("workspace_id=team_7&ai_state=cancelled") == []


async def test_jobs_when_filtered_by_error_then_those_whose_last_error_it_is(app: App, front: Front) -> None:
    dead = [(await reach(app.db, "dead_letter"))["job_id"] for _ in range(3)]
    failed = (await reach(app.db, "failed"))["job_id"]
    code = (await job_row(app.db, dead[0]))["last_error"]["code"]
    await app.db.execute(
        "UPDATE jobs SET last_error = last_error || '{\"code\": \"bad_answer\"}' WHERE state = 'failed'"
    )

    async def jobs(filters: str) -> list[int]:
        return [row["job_id"] for page in await pages(front, f"/v1/jobs?{filters}", 2) for row in page]

    assert await jobs(f"error_code={code}") == dead[::-1]
    assert await jobs(f"error_code={code}&state=dead_letter&kind=ticket&workspace_id=team_42") == dead[::-1]
    assert await jobs(f"error_code={code}&workspace_id=team_7") == []
    assert await jobs(f"error_code={code}&state=failed") == []
    assert await jobs("error_code=bad_answer") == [failed]
    await front.post(f"/v1/jobs/{dead[1]}/retry")
    assert await jobs(f"error_code={code}&state=queued") == [dead[1]]
    assert await jobs(f"error_code={code}") == dead[::-1]
