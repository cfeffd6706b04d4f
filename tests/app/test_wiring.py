"""The process's app: built once, from the environment, at the first call that needs it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator

import pytest

from shared import wiring
from tests.ears import QUIET
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


@pytest.mark.parametrize(
    ("name", "value"), [("JobsQueue", "nonsense"), ("JobsQueue", "AccountName=a"), ("WEBHOOK_SECRET", "whsec_nonsense")]
)
async def test_calls_when_the_app_cannot_be_built_then_the_setting_is_named_and_nothing_stays_open(
    process: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str, value: str
) -> None:
    for setting, switch in QUIET.items():
        process.setenv(setting, switch)
    nobody = "InstrumentationKey=00000000-0000-0000-0000-000000000001;IngestionEndpoint=http://127.0.0.1:9/"
    process.setenv("APPLICATIONINSIGHTS_CONNECTION_STRING", nobody)
    process.setenv(name, value)
    threads, tasks = set(threading.enumerate()), asyncio.all_tasks()
    answer = await Front().get("/v1/jobs")
    assert (answer.status, answer.error["code"]) == (500, "internal_error")
    assert f"SettingsError: {name}: " in caplog.text
    assert value not in caplog.text
    assert asyncio.all_tasks() == tasks
    assert not [left for left in set(threading.enumerate()) - threads if not left.name.startswith("asyncio")]


@pytest.mark.parametrize("name", ["PROVIDER_API_KEY", "WEBHOOK_SECRET", "WEBHOOK_SECRET_PREVIOUS"])
async def test_calls_when_a_secret_was_not_read_from_the_vault_then_work_goes_on_and_a_line_says_which(
    process: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    process.setenv(name, "@Microsoft.KeyVault(SecretUri=https://kv.vault.azure.net/secrets/x)")
    assert (await Front().get("/v1/jobs")).status == 200
    assert f"{name}: not read from Key Vault" in caplog.text
    settings = (await wiring.app()).settings
    assert getattr(settings, name.lower()) == ""  # and nobody is shown where the vault is


async def test_calls_when_the_setting_is_put_right_then_the_next_one_works(process: pytest.MonkeyPatch) -> None:
    process.setenv("JOB_LEASE_SECONDS", "soon")
    await Front().get("/v1/jobs")
    process.setenv("JOB_LEASE_SECONDS", "30")
    assert (await Front().get("/v1/jobs")).status == 200
