"""Tickets to report about, and reports asked for as a client does it."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any

from shared.db import Database
from shared.wiring import App
from tests.front import Front
from tests.stage import Mailroom, hasten

ASKED = {"task": "Generate weekly support report", "workspace_id": "team_42"}
SEND = """
INSERT INTO tickets (customer_id, workspace_id, subject, body, channel, created_at, team, priority)
SELECT %(customer_id)s, %(workspace_id)s, %(subject)s, %(body)s, 'email',
       coalesce(%(at)s, now()) - n * interval '1 second', %(team)s, %(priority)s
FROM generate_series(1, %(how_many)s) AS n RETURNING ticket_id
"""


async def send(
    db: Database,
    subject: str = "Charged twice",
    body: str = "",
    *,
    how_many: int = 1,
    at: datetime | None = None,
    workspace_id: str = "team_42",
    team: str | None = "billing",
    priority: int | None = 1,
) -> list[str]:
    """Tickets of C-0022, a second apart and the last one second before `at` (default now); their names."""
    params = {"customer_id": "C-0022", "workspace_id": workspace_id, "subject": subject, "body": body, "at": at}
    rows = await db.fetch_dicts(SEND, params | {"how_many": how_many, "team": team, "priority": priority})
    return [f"T-{row['ticket_id']}" for row in rows]


async def order(front: Front, **more: Any) -> int:
    accepted = await front.post("/v1/jobs", ASKED | more)
    assert accepted.status == 202, accepted.body
    job_id: int = accepted.json()["job_id"]
    return job_id


async def announced(app: App, mailroom: Mailroom) -> list[str]:
    """The messages for report workers, whatever is due when."""
    await app.kick.settled()
    await hasten(app.db)
    await app.relay.run_pass(stay_s=0)
    return await mailroom.take_texts(mailroom.reports)


async def work(app: App, mailroom: Mailroom) -> None:
    """One run of every report that waits."""
    await asyncio.gather(*(app.worker.work(text) for text in await announced(app, mailroom)))


async def shown(front: Front, job_id: int) -> dict[str, Any]:
    job: dict[str, Any] = (await front.get(f"/v1/jobs/{job_id}")).json()
    return job


async def opened(front: Front, job: dict[str, Any], name: str) -> str:
    [url] = [file["url"] for file in job["artifacts"] if file["name"] == name]
    answer = await front.get(url)
    assert answer.status == 200
    return answer.body.decode()


async def document(front: Front, job: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(await opened(front, job, "report.json"))
    return read


async def finished(front: Front, app: App, mailroom: Mailroom, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A report asked for and done in one run: the job and its report.json."""
    job_id = await order(front, **more)
    await work(app, mailroom)
    job = await shown(front, job_id)
    assert job["state"] == "succeeded", job
    return job, await document(front, job)
