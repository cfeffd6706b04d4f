"""A07, A08, A09: what providers write beside a refusal. The job succeeds in the end and loses no attempt by it."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from shared.db import Database
from shared.settings import Settings
from shared.wiring import App, build
from shared.worker import Worker
from simulator.provider.app import create_app
from simulator.provider.simulation import Simulation
from simulator.provider.weather import Turn
from tests.stage import Mailroom, accept, calls, job_row, work_once

BACKOFF_S = 0.05
CUT_S = 100.0
FAST = pytest.mark.settings(
    RETRY_BASE_SECONDS=str(BACKOFF_S), RETRY_CAP_SECONDS=str(BACKOFF_S), LANE_PAUSE_MAX_SECONDS=str(CUT_S)
)

# A Retry-After and the pause it means, in seconds; None = no usable hint, so the back-off.
HINTS: list[tuple[str | tuple[str, ...] | None, float | None]] = [
    ("2", 2),
    ("2.5", 2.5),
    (" 3 ", 3),
    (None, None),
    ("", None),
    ("-1", None),
    ("0", 0),
    ("NaN", None),
    ("Infinity", None),
    ("1e999", None),
    ("soon", None),
    ("5s", None),
    ("1_000", None),
    ("٣", None),
    ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
    ("NOW+5 GMT", 5),
    ("NOW+5 -0000", 5),
    ("Fri, 31 Dec 9999 23:59:59 GMT", CUT_S),
    ("86400", CUT_S),
    (("4", "9"), 9),
]


async def let_the_pause_pass(db: Database) -> None:
    await db.execute("UPDATE provider_lane SET paused_until = NULL")


async def pause_s(db: Database) -> float:
    """How long the last refusal has stopped everybody."""
    row = await db.fetch_dict("SELECT extract(epoch FROM paused_until - at)::float8 AS s FROM provider_lane")
    assert row is not None
    found: float = row["s"]
    return found


async def to_the_end(app: App, mailroom: Mailroom, worker: Worker, job_id: int) -> None:
    """Rounds of work, with every pause over at once, until the job is done."""
    for _ in range(10):
        await let_the_pause_pass(app.db)
        await work_once(app, mailroom, worker)
        if (await job_row(app.db, job_id))["state"] == "succeeded":
            return
    raise TimeoutError(f"job {job_id} does not come to an end")


@FAST
async def test_a07_refusal_when_its_hint_is_odd_then_waited_for_as_far_as_it_can_be_read(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation
) -> None:
    for hint, wanted_s in HINTS:
        provider.restart()
        provider.play([Turn(mode="refuse", retry_after=hint)])
        await app.db.execute("UPDATE provider_lane SET paused_until = NULL, refusals = 0")
        job_id = await accept(app)
        await work_once(app, mailroom, worker)
        paused_s = await pause_s(app.db)
        assert not wanted_s or paused_s >= wanted_s - 1.1 * ("NOW" in str(hint)), hint
        assert paused_s <= (wanted_s or BACKOFF_S) + 0.01, hint

        await to_the_end(app, mailroom, worker, job_id)

        assert (await job_row(app.db, job_id))["attempts"] == 1, hint
        assert calls(provider) == {"classify": 2, "draft_reply": 1, "embed": 1}, hint


class FirstBusy(httpx.AsyncBaseTransport):
    """Answers the first call with 503 and a hint, and leaves the others to the simulated provider."""

    def __init__(self, provider: Simulation) -> None:
        self._then = httpx.ASGITransport(create_app(provider))
        self._is_first = True

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._is_first:
            self._is_first = False
            return httpx.Response(503, headers={"Retry-After": "30"}, text="busy")
        return await self._then.handle_async_request(request)


async def test_a08_outage_when_its_hint_is_longer_than_a_run_may_last_then_the_worker_does_not_wait_for_it(
    settings: Settings, mailroom: Mailroom, provider: Simulation
) -> None:
    app = await build(settings, http=httpx.AsyncClient(transport=FirstBusy(provider)))
    worker = replace(app.worker, kick=lambda: None)
    job_id = await accept(app)
    await work_once(app, mailroom, worker)
    row = await job_row(app.db, job_id)
    assert (row["state"], row["attempts"], row["last_error"]["code"]) == ("queued", 1, "provider_unavailable")
    _, ask_again_s = await app.status.job(job_id)
    assert ask_again_s is not None
    assert 28 <= ask_again_s <= 30, "not before the provider wants to be asked"
    await to_the_end(app, mailroom, worker, job_id)
    assert calls(provider)["classify"] == 1
    await app.close()


@FAST
@pytest.mark.parametrize("body", ["", "slow down", '{"error": "busy"}', "[]", '{"error": {"code": 7}}', "\x00"])
async def test_a09_refusal_when_its_body_says_nothing_then_it_is_ordinary_throttling(
    app: App, mailroom: Mailroom, worker: Worker, provider: Simulation, body: str
) -> None:
    provider.play([Turn(mode="refuse", body=body)])
    job_id = await accept(app)
    await to_the_end(app, mailroom, worker, job_id)
    assert (await job_row(app.db, job_id))["attempts"] == 1
    assert calls(provider)["classify"] == 2
    assert await app.db.fetch_dict("SELECT is_open FROM provider_breakers WHERE endpoint = 'chat'") == {
        "is_open": False
    }
