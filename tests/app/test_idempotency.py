"""Idempotency-Key: one key and one body make one ticket, however often and however fast they come."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from shared.api.asked import NewTicket
from shared.intake import Asked
from shared.settings import Settings
from shared.wiring import App, build
from tests.front import Front
from tests.stage import saved, transaction, until

GOOD = {"customer_id": "C-0022", "subject": "Charged twice", "body": "é"}
KEY = {"Idempotency-Key": "key-0001"}


@pytest.fixture
async def other_process(settings: Settings) -> AsyncIterator[App]:
    """The app as another process of the same installation has it."""
    built = await build(settings)
    yield built
    await built.close()


async def test_key_when_sent_again_then_the_first_answer_and_one_ticket(app: App, front: Front) -> None:
    first = await front.post("/v1/tickets", GOOD, KEY)
    second = await front.post("/v1/tickets", GOOD, KEY)

    assert (first.status, second.status) == (202, 202)
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert second.json() == first.json()
    assert second.headers["location"] == first.headers["location"]
    assert (await saved(app.db))["tickets"] == 1


async def test_key_when_twenty_requests_bring_it_at_once_then_one_ticket_and_all_get_it(app: App, front: Front) -> None:
    answers = await asyncio.gather(*(front.post("/v1/tickets", GOOD, KEY) for _ in range(20)))
    assert {answer.status for answer in answers} == {202}
    assert len({answer.body for answer in answers}) == 1
    assert Counter("idempotent-replayed" in answer.headers for answer in answers) == {True: 19, False: 1}
    assert (await saved(app.db))["tickets"] == 1


async def test_key_when_two_processes_have_it_at_once_then_one_ticket(app: App, other_process: App) -> None:
    new = NewTicket.model_validate(GOOD)
    answers = await asyncio.gather(
        *(
            home.intake.accept_ticket(new, Asked("r"), key="key-0001")
            for home in (app, other_process)
            for _ in range(10)
        )
    )
    assert {accepted.job_id for accepted, _ in answers} == {1}
    assert Counter(is_replay for _, is_replay in answers) == {True: 19, False: 1}
    assert (await saved(app.db))["tickets"] == 1


@pytest.mark.parametrize(
    "body",
    [
        '{"subject": "Charged twice", "body": "é", "customer_id": "C-0022"}',
        '{"customer_id":"C-0022","subject":"Charged\\u0020twice","body":"\\u00e9"}',
        ' {\n"customer_id": "C-0022", "subject": "Charged twice", "body": "é", "channel": "web_form"} ',
        '{"customer_id": "C-0022", "subject": " Charged twice ", "body": "é"}',
    ],
)
async def test_key_when_the_body_says_the_same_in_other_words_then_a_replay(front: Front, body: str) -> None:
    await front.post("/v1/tickets", GOOD, KEY)
    again = await front.send("POST", "/v1/tickets", body.encode(), {**KEY, "Content-Type": "application/json"})
    assert (again.status, again.headers.get("idempotent-replayed")) == (202, "true")


async def test_key_when_the_body_says_something_else_then_422_and_nothing_is_made(app: App, front: Front) -> None:
    await front.post("/v1/tickets", GOOD, KEY)
    for changes in ({"subject": "Charged thrice"}, {"body": "e"}, {"channel": "phone"}):
        answer = await front.post("/v1/tickets", GOOD | changes, KEY)
        assert (answer.status, answer.error["code"]) == (422, "idempotency_key_reused")
    assert (await saved(app.db))["tickets"] == 1


async def test_key_when_another_customer_uses_it_then_it_is_another_key(app: App, front: Front) -> None:
    await front.post("/v1/tickets", GOOD, KEY)
    answer = await front.post("/v1/tickets", GOOD | {"customer_id": "C-0023"}, KEY)
    assert "idempotent-replayed" not in answer.headers
    assert (await saved(app.db))["tickets"] == 2


async def test_key_when_the_request_was_refused_then_it_is_free(app: App, front: Front) -> None:
    unknown = GOOD | {"customer_id": "C-0999"}
    assert (await front.post("/v1/tickets", unknown, KEY)).status == 404
    assert (await front.post("/v1/tickets", unknown | {"subject": ""}, KEY)).status == 422
    assert await app.db.fetch_dicts("SELECT * FROM idempotency_keys") == []
    await front.put("/v1/customers/C-0999", {"name": "Zoe", "workspace_id": "team_9"})

    answer = await front.post("/v1/tickets", unknown | {"subject": "Another one"}, KEY)

    assert (answer.status, "idempotent-replayed" in answer.headers) == (202, False)


async def test_key_when_its_time_is_over_then_a_new_ticket(app: App, front: Front) -> None:
    await front.post("/v1/tickets", GOOD, KEY)
    await app.db.execute("UPDATE idempotency_keys SET expires_at = now() - interval '1 second'")
    answer = await front.post("/v1/tickets", GOOD | {"subject": "Next year"}, KEY)
    assert (answer.status, "idempotent-replayed" in answer.headers) == (202, False)
    assert (await saved(app.db))["tickets"] == 2


async def test_key_when_a_request_holds_it_and_fails_then_the_waiting_one_goes(
    app: App, front: Front, database_url: str
) -> None:
    async with transaction(database_url) as other:
        await other.execute(
            "INSERT INTO idempotency_keys (route, actor, key, fingerprint, expires_at) VALUES"
            " ('POST /v1/tickets', 'customer:C-0022', 'key-0001', 'another', now() + interval '1 hour')"
        )
        request = asyncio.create_task(front.post("/v1/tickets", GOOD, KEY))

        async def waits() -> bool:
            found = await app.db.fetch_dicts(
                "SELECT 1 AS one FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%idempotency%'"
            )
            return bool(found)

        await until(waits, "the request waits for the key")
        await other.rollback()

    answer = await request
    assert (answer.status, "idempotent-replayed" in answer.headers) == (202, False)
    assert (await saved(app.db))["tickets"] == 1


async def test_key_when_it_cannot_be_one_then_422_by_name_and_nothing_is_saved(app: App, front: Front) -> None:
    for key in ("", "a" * 7, "a" * 101, "with space", "tab\tinside", "é" * 8, "\x7f" * 8, "key-0001\n"):
        answer = await front.post("/v1/tickets", GOOD, {"Idempotency-Key": key})
        assert (answer.status, answer.fields) == (422, {"Idempotency-Key"}), key
    assert (await saved(app.db))["tickets"] == 0


async def test_key_when_of_visible_characters_then_taken(front: Front) -> None:
    for key in ("a" * 8, "~" * 100, "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}"):
        answers = [await front.post("/v1/tickets", GOOD, {"Idempotency-Key": key}) for _ in range(2)]
        assert [answer.status for answer in answers] == [202, 202], key
        assert answers[0].json() == answers[1].json()
