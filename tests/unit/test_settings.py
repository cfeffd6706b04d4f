"""Settings: read once, complete, and with errors that name the setting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shared.settings import Settings, SettingsError

LEAST = {
    "DATABASE_URL": "postgresql://app:secret-1@db/app",
    "JobsQueue": "AccountKey=secret-2",
    "PROVIDER_URL": "https://provider.example/v1",
    "PROVIDER_API_KEY": "secret-3",
}
EXAMPLE = Path(__file__).parents[2] / "local.settings.json.example"


def test_settings_when_only_the_needed_ones_are_given_then_the_contracts_defaults() -> None:
    settings = Settings.read(LEAST)
    assert (settings.ticket_queue, settings.job_max_attempts, settings.job_lease_seconds) == ("tickets", 5, 30)
    assert (settings.retry_base_seconds, settings.retry_cap_seconds, settings.provider_timeout) == (2, 60, 10)
    assert (settings.run_slice_seconds, settings.provider_key_header) == (1200, "authorization")


def test_settings_when_given_as_text_then_typed() -> None:
    settings = Settings.read({**LEAST, "JOB_MAX_ATTEMPTS": "3", "JOB_LEASE_SECONDS": "0.5", "TICKET_QUEUE": "t-1"})
    assert (settings.job_max_attempts, settings.job_lease_seconds, settings.ticket_queue) == (3, 0.5, "t-1")


def test_settings_when_empty_then_not_set() -> None:
    assert Settings.read({**LEAST, "JOB_MAX_ATTEMPTS": ""}).job_max_attempts == 5
    with pytest.raises(SettingsError, match="DATABASE_URL"):
        Settings.read({**LEAST, "DATABASE_URL": ""})


def test_settings_when_windows_spells_names_in_capitals_then_found() -> None:
    environment = {name.upper(): value for name, value in LEAST.items()}
    assert Settings.read(environment).jobs_queue == LEAST["JobsQueue"]


def test_settings_when_environment_has_other_things_then_ignored() -> None:
    assert Settings.read({**LEAST, "PATH": "/bin", "FUNCTIONS_WORKER_RUNTIME": "python"}) == Settings.read(LEAST)


@pytest.mark.parametrize("name", sorted(LEAST.keys() - {"PROVIDER_API_KEY"}))
def test_settings_when_a_needed_one_is_missing_then_error_names_it(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"\b{name}\b"):
        Settings.read({key: value for key, value in LEAST.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JOB_MAX_ATTEMPTS", "0"),
        ("JOB_MAX_ATTEMPTS", "2.5"),
        ("JOB_MAX_ATTEMPTS", "many"),
        ("JOB_LEASE_SECONDS", "0"),
        ("JOB_LEASE_SECONDS", "-1"),
        ("JOB_LEASE_SECONDS", "nan"),
        ("JOB_LEASE_SECONDS", "inf"),
        ("PROVIDER_TIMEOUT", "soon"),
        ("PROVIDER_URL", "provider.example"),
        ("PROVIDER_URL", "ftp://provider.example"),
        ("PROVIDER_KEY_HEADER", "x-key"),
        ("TICKET_QUEUE", "Tickets"),
        ("TICKET_QUEUE", "a--b"),
        ("TICKET_QUEUE", "-tickets"),
        ("TICKET_QUEUE", "ab"),
        ("TICKET_QUEUE", "q" * 57),
        ("DATABASE_POOL_SIZE", "0"),
    ],
)
def test_settings_when_a_value_cannot_be_used_then_error_names_setting_and_not_the_secrets(
    name: str, value: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.read({**LEAST, name: value})
    assert name in str(raised.value)
    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_settings_when_two_are_wrong_then_error_names_both() -> None:
    with pytest.raises(SettingsError, match=r"JobsQueue.*JOB_LEASE_SECONDS"):
        Settings.read({**LEAST, "JobsQueue": "", "JOB_LEASE_SECONDS": "x"})


def test_settings_when_shown_then_no_secret() -> None:
    settings = Settings.read(LEAST)
    assert "secret" not in repr(settings)
    assert "secret" not in str(settings)


def test_settings_when_read_from_the_example_then_usable_as_they_are() -> None:
    values: dict[str, str] = json.loads(EXAMPLE.read_text(encoding="utf-8"))["Values"]
    assert Settings.read(values).ticket_queue == values["TICKET_QUEUE"]


def test_example_then_lists_every_setting() -> None:
    values = json.loads(EXAMPLE.read_text(encoding="utf-8"))["Values"]
    names = {str(field.validation_alias or name.upper()) for name, field in Settings.model_fields.items()}
    assert names - set(values) == set()
