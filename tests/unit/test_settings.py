"""Settings: read once, complete, and with errors that name the setting."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.settings import Settings, SettingsError

LEAST = {
    "DATABASE_URL": "postgresql://app:secret-1@db/app",
    "JobsQueue": "AccountKey=secret-2",
    "PROVIDER_URL": "https://provider.example/v1",
    "PROVIDER_API_KEY": "secret-3",
}
IDENTITY = {
    "DATABASE_URL": "postgresql://id-app@db.example/app?sslmode=verify-full",
    "DATABASE_AUTH": "entra",
    "AZURE_CLIENT_ID": "11111111-1111-1111-1111-111111111111",
    "JobsQueue__queueServiceUri": "https://account.queue.core.windows.net/",
    "JobsQueue__credential": "managedidentity",
    "JobsQueue__clientId": "11111111-1111-1111-1111-111111111111",
    "PROVIDER_URL": "https://provider.example/v1",
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


def test_settings_when_all_is_done_by_an_identity_then_read() -> None:
    settings = Settings.read(IDENTITY)
    assert (settings.database_auth, settings.client_id) == ("entra", IDENTITY["AZURE_CLIENT_ID"])
    assert (settings.queue_service_uri, settings.jobs_queue) == (IDENTITY["JobsQueue__queueServiceUri"], "")


@pytest.mark.parametrize("respelled", [str.upper, lambda name: name.replace("__", ":")])
def test_settings_when_names_are_spelled_as_the_host_allows_then_the_same(
    respelled: Callable[[str], str],
) -> None:
    assert Settings.read({respelled(name): value for name, value in IDENTITY.items()}) == Settings.read(IDENTITY)


def test_settings_when_the_kind_of_credential_is_in_other_case_then_the_same() -> None:
    assert Settings.read({**IDENTITY, "JobsQueue__credential": "managedIdentity"}) == Settings.read(IDENTITY)


def test_settings_when_the_identity_is_the_apps_own_then_no_client_id() -> None:
    without = {name: value for name, value in IDENTITY.items() if "client" not in name.lower()}
    assert Settings.read(without).client_id is None


def test_settings_when_only_one_side_has_an_identity_then_its_client_id() -> None:
    queue = {**IDENTITY, "DATABASE_AUTH": "password", "JobsQueue__clientId": "of-the-queue"}
    assert Settings.read(queue).client_id == "of-the-queue"
    database = {name: value for name, value in IDENTITY.items() if not name.startswith("JobsQueue")}
    assert Settings.read({**database, "JobsQueue": "AccountKey=k"}).client_id == IDENTITY["AZURE_CLIENT_ID"]


@pytest.mark.parametrize(
    ("change", "at_fault"),
    [
        ({"JobsQueue": "AccountKey=secret-2"}, {"JobsQueue__queueServiceUri", "JobsQueue"}),
        ({"JobsQueue__queueServiceUri": ""}, {"JobsQueue__queueServiceUri", "JobsQueue"}),
        ({"JobsQueue__queueServiceUri": "http://account.queue.core.windows.net"}, {"JobsQueue__queueServiceUri"}),
        ({"JobsQueue__credential": "clientsecret"}, {"JobsQueue__credential"}),
        ({"DATABASE_AUTH": "kerberos"}, {"DATABASE_AUTH"}),
        (
            {"DATABASE_URL": "postgresql://id-app:secret-1@db/app?sslmode=verify-full"},
            {"DATABASE_AUTH", "DATABASE_URL"},
        ),
        ({"DATABASE_URL": "postgresql://id-app@db/app"}, {"DATABASE_AUTH", "DATABASE_URL"}),
        ({"DATABASE_URL": "postgresql://id-app@db/app?sslmode=require"}, {"DATABASE_AUTH", "DATABASE_URL"}),
        ({"DATABASE_URL": "postgresql://db/app?sslmode=verify-full"}, {"DATABASE_AUTH", "DATABASE_URL"}),
        ({"DATABASE_URL": "mysql:secret-1"}, {"DATABASE_URL"}),
        ({"AZURE_CLIENT_ID": "another"}, {"AZURE_CLIENT_ID", "JobsQueue__clientId"}),
        ({"AZURE_CLIENT_ID": ""}, {"AZURE_CLIENT_ID", "JobsQueue__clientId"}),
        ({"JobsQueue__clientId": ""}, {"AZURE_CLIENT_ID", "JobsQueue__clientId"}),
    ],
)
def test_settings_when_ways_to_sign_in_are_mixed_then_one_error_that_names_them(
    change: dict[str, str], at_fault: set[str]
) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.read({**IDENTITY, **change})
    said = str(raised.value)
    assert ";" not in said
    assert set(re.findall(r"\b(?:JobsQueue\w*|[A-Z]+_[A-Z_]+)\b", said)) == at_fault
    assert "secret" not in said


@pytest.mark.parametrize("name", ["JobsQueue__credential", "JobsQueue__clientId"])
def test_settings_when_a_connection_string_comes_with_an_identity_then_error_names_both(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"{name}.* JobsQueue__queueServiceUri"):
        Settings.read({**LEAST, name: IDENTITY[name]})


def test_settings_when_read_from_the_example_then_usable_as_they_are() -> None:
    values: dict[str, str] = json.loads(EXAMPLE.read_text(encoding="utf-8"))["Values"]
    assert Settings.read(values).ticket_queue == values["TICKET_QUEUE"]


def test_example_then_lists_every_setting() -> None:
    values = json.loads(EXAMPLE.read_text(encoding="utf-8"))["Values"]
    names = {str(field.validation_alias or name.upper()) for name, field in Settings.model_fields.items()}
    of_the_host = {"FUNCTIONS_WORKER_RUNTIME", "RELAY_SCHEDULE", "SWEEP_SCHEDULE"}
    assert {name for name in values if not name.startswith("AzureWebJobs")} == names | of_the_host
