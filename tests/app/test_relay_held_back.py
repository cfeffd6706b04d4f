"""Rows that the lane or a breaker holds back do not hide those behind them."""

from __future__ import annotations

import json

import pytest

from shared.wiring import App
from tests.stage import Mailroom, accept, announce, seed

CROWD = 40  # more than a pass takes at once


async def announced(app: App, mailroom: Mailroom) -> list[int]:
    return sorted(json.loads(text)["job_id"] for text in await announce(app, mailroom))


@pytest.mark.settings(PROVIDER_CHAT_RPM="60", PROVIDER_CHAT_TPM="0")
async def test_job_without_chat_calls_when_the_quota_is_used_up_then_it_passes_those_who_wait(
    app: App, mailroom: Mailroom, database_url: str
) -> None:
    await seed(database_url, CROWD)
    embeds = await accept(app)
    await app.db.execute("UPDATE provider_lane SET calls = -100, paused_until = now() + interval '1 hour'")
    await app.db.execute(
        "UPDATE jobs SET chat_calls_left = 0, endpoint = 'embeddings' WHERE job_id = %(job_id)s", {"job_id": embeds}
    )
    assert await announced(app, mailroom) == [embeds]


async def test_job_for_one_endpoint_when_the_breaker_of_the_other_is_open_then_it_passes_those_who_wait(
    app: App, mailroom: Mailroom, database_url: str
) -> None:
    await seed(database_url, CROWD)
    await app.db.execute("UPDATE jobs SET chat_calls_left = 0, endpoint = 'embeddings'")
    await app.db.execute(
        "UPDATE provider_breakers SET is_open = true, reason = 'provider_unavailable', opened_at = now(),"
        " retry_at = now() + interval '1 hour' WHERE endpoint = 'embeddings'"
    )
    chats = await accept(app)
    assert await announced(app, mailroom) == [chats]


@pytest.mark.settings(PROVIDER_CHAT_RPM="60", PROVIDER_CHAT_BURST="6", PROVIDER_CHAT_TPM="0")
async def test_backlog_when_larger_than_the_quota_then_only_what_can_be_served_is_announced(
    app: App, mailroom: Mailroom, database_url: str
) -> None:
    jobs = await seed(database_url, CROWD)
    # 6 calls at once and 2.5 s of one call a second: room for calls up to 8.5, two a job.
    assert await announced(app, mailroom) == jobs[:5]
    assert await announced(app, mailroom) == []
