"""The process's app: built once, from the environment, at the first call that needs it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator

import pytest

from shared import wiring
from tests.front import Front


@pytest.fixture
async def process(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[pytest.MonkeyPatch]:
    """A process that has not been asked for anything yet, with the environment of the app under test."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(wiring, "_app", None)
    monkeypatch.setattr(wiring, "_building", None)
    before = signal.getsignal(signal.SIGTERM)
    yield monkeypatch
    signal.signal(signal.SIGTERM, before)
    if wiring._app is not None:
        await wiring._app.close()


async def test_calls_when_the_first_ones_come_at_once_then_one_app_is_built_for_all(
    process: pytest.MonkeyPatch,
) -> None:
    answers = await asyncio.gather(*(Front().get("/v1/jobs") for _ in range(8)))
    assert [answer.status for answer in answers] == [200] * 8
    first, second = await wiring.app(), await wiring.app()
    assert first is second


async def test_calls_when_a_setting_is_wrong_then_500_without_its_name_but_the_log_has_it(
    process: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    process.setenv("JOB_LEASE_SECONDS", "soon")
    answer = await Front().get("/v1/jobs")
    assert (answer.status, answer.error["code"]) == (500, "internal_error")
    assert b"JOB_LEASE_SECONDS" not in answer.body
    assert "JOB_LEASE_SECONDS" in caplog.text
    assert (await Front().get("/v1/health/live")).status == 200


async def test_calls_when_the_setting_is_put_right_then_the_next_one_works(process: pytest.MonkeyPatch) -> None:
    process.setenv("JOB_LEASE_SECONDS", "soon")
    await Front().get("/v1/jobs")
    process.setenv("JOB_LEASE_SECONDS", "30")
    assert (await Front().get("/v1/jobs")).status == 200
