"""The relay while the queue service is away: nobody is charged, nothing spins, everything arrives afterwards."""

from __future__ import annotations

import base64
import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from shared.queues.storage import Queues
from shared.wiring import App
from simulator.stack.azurite import ACCOUNT, ACCOUNT_KEY
from simulator.stack.ports import LOOPBACK, NOBODYS
from tests.stage import Mailroom, accept, announce, hasten

TICKS = 15


class Counting(Queues):
    """Queues that count how often something was to be put."""

    def __init__(self, real: Queues) -> None:
        self._real = real
        self.puts = 0

    async def put(self, queue: str, text: str) -> Any:
        self.puts += 1
        return await self._real.put(queue, text)


def nobody_there() -> str:
    """The connection string of a storage account that is switched off."""
    endpoint = f"http://{LOOPBACK}:{NOBODYS}/{ACCOUNT}"
    return (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};"
        f"BlobEndpoint={endpoint};QueueEndpoint={endpoint};"
    )


async def test_pass_when_the_queue_is_away_for_many_ticks_then_no_row_is_charged_and_all_arrive_later(
    app: App, mailroom: Mailroom, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [await accept(app) for _ in range(20)]
    away = Queues.connect(nobody_there())
    counting = Counting(away)
    caplog.set_level(logging.WARNING, "larkfield")
    for _ in range(TICKS):
        await hasten(app.db)
        await replace(app.relay, queues=counting).run_pass(stay_s=0)
    await away.close()

    assert 1 <= counting.puts <= 20 * TICKS
    assert len(caplog.records) <= 2 * TICKS
    assert await app.db.fetch_dicts("SELECT DISTINCT attempts, last_error FROM outbox") == [
        {"attempts": 0, "last_error": None}
    ]
    assert await app.db.fetch_dicts("SELECT DISTINCT state, attempts, last_error FROM jobs") == [
        {"state": "queued", "attempts": 0, "last_error": None}
    ]

    await hasten(app.db)
    texts = await announce(app, mailroom)

    assert sorted(json.loads(text)["job_id"] for text in texts) == jobs


@pytest.mark.settings(JobsQueue=nobody_there())
async def test_ticket_when_the_queue_is_away_then_accepted_all_the_same(app: App, mailroom: Mailroom) -> None:
    job_id = await accept(app)
    app.kick()
    await app.kick.relay.settled()
    assert (await app.status.job(job_id))[0].state == "queued"
    ready = await app.overview.ready()
    assert ready.ready
    assert ready.checks["queue"] != "ok"


async def test_queue_when_deleted_by_hand_then_made_again(app: App, mailroom: Mailroom) -> None:
    await accept(app)
    assert len(await announce(app, mailroom)) == 1
    await mailroom.queue(mailroom.tickets).delete_queue()
    second = await accept(app)
    # The service is busy deleting for a while; such a put is no refusal, the row waits.
    for _ in range(3):
        await hasten(app.db)
        await app.relay.run_pass(stay_s=0)
    [message] = await mailroom.take(mailroom.tickets)
    assert json.loads(base64.b64decode(message.content))["job_id"] == second
