"""GET /v1/tickets/{id}/similar: the nearest of the same workspace, or in words why there are none yet."""

from __future__ import annotations

import pytest

from shared.db import Database
from shared.wiring import App
from shared.worker import Worker
from tests.db.arrows import reach
from tests.front import Front
from tests.stage import Mailroom, accept, finish


async def embedded(db: Database, *direction: float, workspace_id: str = "team_42", version: str = "v1") -> str:
    """A ticket whose embedding points there (zeros follow), without a job; its name."""
    row = await db.fetch_dict(
        "INSERT INTO tickets (customer_id, workspace_id, subject, body, channel, team, embedding, embedding_version)"
        " VALUES ('C-0022', %(workspace_id)s, %(subject)s, '', 'email', 'billing', %(embedding)s::text::vector,"
        " %(version)s) RETURNING ticket_id",
        {
            "workspace_id": workspace_id,
            "subject": f"At {direction}",
            "embedding": str([*direction, *[0.0] * (384 - len(direction))]),
            "version": version,
        },
    )
    assert row is not None
    return f"T-{row['ticket_id']}"


async def test_similar_when_the_ai_is_done_then_the_nearest_first_and_not_the_ticket_itself(
    app: App, front: Front, mailroom: Mailroom, worker: Worker
) -> None:
    texts = ("Charged twice for one order", "I was charged twice for my order", "The parcel has not arrived")
    for subject in texts:
        await accept(app, subject=subject)
    await finish(app, mailroom, worker)
    names = {item["subject"]: item["ticket_id"] for item in (await front.get("/v1/tickets")).json()["items"]}

    answer = await front.get(f"/v1/tickets/{names[texts[0]]}/similar")

    items = answer.json()["items"]
    assert [item["subject"] for item in items] == [texts[1], texts[2]]
    assert all(set(item) == {"ticket_id", "subject", "team", "created_at", "similarity"} for item in items)
    assert items[0]["ticket_id"] == names[texts[1]]
    assert 1 > items[0]["similarity"] > 0.5 > items[1]["similarity"]


async def test_similar_then_similarity_is_the_cosine_and_k_counts(db: Database, front: Front) -> None:
    own = await embedded(db, 1)
    await embedded(db, 0, 1)
    close = await embedded(db, 4, 3)
    same = await embedded(db, 7)
    against = await embedded(db, -1)

    items = (await front.get(f"/v1/tickets/{own}/similar")).json()["items"]

    assert [round(item["similarity"], 6) for item in items] == [1, 0.8, 0, -1]
    assert [items[0]["ticket_id"], items[1]["ticket_id"], items[3]["ticket_id"]] == [same, close, against]
    assert (await front.get(f"/v1/tickets/{own}/similar?k=2")).json()["items"] == items[:2]
    assert (await front.get(f"/v1/tickets/{own}/similar?k=20")).json()["items"] == items


async def test_similar_when_only_others_are_alike_then_none_of_another_workspace_or_version(
    db: Database, front: Front
) -> None:
    own = await embedded(db, 1)
    await embedded(db, 1, workspace_id="team_7")
    await embedded(db, 1, version="v2")
    assert (await front.get(f"/v1/tickets/{own}/similar")).json() == {"items": []}


async def test_similar_when_a_vector_has_no_direction_then_it_is_like_nothing(db: Database, front: Front) -> None:
    own, nowhere = await embedded(db, 1), await embedded(db)
    for name, other in ((own, nowhere), (nowhere, own)):
        [item] = (await front.get(f"/v1/tickets/{name}/similar")).json()["items"]
        assert (item["ticket_id"], item["similarity"]) == (other, 0)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("queued", "its job 1 is queued"),
        ("running", "its job 1 is running"),
        ("dead_letter", "its job 1 is a dead letter (provider_unavailable)"),
        ("failed", "its job 1 is failed (provider_unavailable)"),
        ("cancelled", "its job 1 is cancelled"),
    ],
)
async def test_similar_when_there_is_no_embedding_then_409_says_why(
    app: App, front: Front, state: str, words: str
) -> None:
    row = await reach(app.db, state)
    answer = await front.get(f"/v1/tickets/T-{row['ticket_id']}/similar")
    assert (answer.status, answer.error["code"]) == (409, "conflict")
    assert answer.error["message"] == f"Ticket T-{row['ticket_id']} has no embedding yet: {words}."


async def test_similar_when_the_ticket_came_without_a_job_then_409_says_so(db: Database, front: Front) -> None:
    await db.execute(
        "INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)"
        " VALUES ('C-0022', 'team_42', 'x', '', 'email')"
    )
    answer = await front.get("/v1/tickets/T-500001/similar")
    assert (answer.status, answer.error["message"]) == (
        409,
        "Ticket T-500001 has no embedding to compare: it came without a job.",
    )


async def test_similar_when_the_ticket_is_unknown_or_k_cannot_be_then_404_or_422(db: Database, front: Front) -> None:
    own = await embedded(db, 1)
    for name in ("T-1", "T-0", "T-" + "9" * 30, "500001", "T-1%00"):
        assert (await front.get(f"/v1/tickets/{name}/similar")).status == 404, name
    for k in ("0", "21", "-1", "1.5", "five", "", "%00", "9" * 30):
        answer = await front.get(f"/v1/tickets/{own}/similar?k={k}")
        assert (answer.status, answer.fields) == (422, {"k"}), k
