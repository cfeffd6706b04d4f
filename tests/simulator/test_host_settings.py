"""Settings, host.json and names (functions-host B4, D7, D8)."""

import json
import platform
from pathlib import Path
from typing import Any

import pytest

from simulator.host.host_json import HostJson, InvalidHostJson, read_host_json
from simulator.host.local_settings import InvalidLocalSettings, gather_settings, read_local_settings
from simulator.host.names import (
    DEVELOPMENT_STORAGE,
    UnresolvedName,
    find_connection,
    find_host_id,
    resolve_placeholders,
)
from simulator.host.settings import Settings
from simulator.host.times import HostTimes, InvalidTime

ROOT = Path("/an/app")


def read(tmp_path: Path, content: dict[str, Any], **settings: str) -> HostJson:
    (tmp_path / "host.json").write_text(json.dumps(content))
    return read_host_json(tmp_path, Settings(settings))


def test_settings_when_asked_for_then_case_and_the_kind_of_colon_do_not_matter() -> None:
    settings = Settings({"ConnectionStrings__JobsQueue": "x", "EMPTY": ""})
    assert settings.find("connectionstrings:JOBSQUEUE") == "x"
    assert settings.find("EMPTY") is None
    assert settings.section("connectionstrings") == {"jobsqueue": "x"}


def test_local_settings_when_read_then_nulls_are_skipped_and_the_environment_wins_unless_empty(tmp_path: Path) -> None:
    content = {
        "IsEncrypted": False,
        "Values": {"A": "file", "B": "file", "C": "file", "NUMBER": 3, "NOTHING": None, "EMPTY": ""},
        "Host": {"LocalHttpPort": 7999, "CORS": "*"},
        "ConnectionStrings": {"Db": "x"},
    }
    (tmp_path / "local.settings.json").write_text(json.dumps(content))
    local = read_local_settings(tmp_path)
    settings, notices = gather_settings(local, {"B": "environment", "C": ""}, root=ROOT, address="localhost:7999")
    wanted = {"A": "file", "B": "environment", "C": "file", "NUMBER": "3", "EMPTY": "", "ConnectionStrings:Db": "x"}
    assert wanted.items() <= settings.environment.items()
    assert "NOTHING" not in settings.environment
    assert settings.find("WEBSITE_HOSTNAME") == "localhost:7999"
    assert settings.find("AZURE_FUNCTIONS_ENVIRONMENT") == "Development"
    assert [notice.split("'")[1] for notice in notices] == ["B"]
    assert (local.host.port, local.host.cors) == (7999, "*")


@pytest.mark.parametrize(
    "content", ['{"Values": {}}', '{"IsEncrypted": true}', "{", '{"IsEncrypted": false, "Values": 1}']
)
def test_local_settings_when_they_cannot_be_used_then_it_is_said(tmp_path: Path, content: str) -> None:
    (tmp_path / "local.settings.json").write_text(content)
    with pytest.raises(InvalidLocalSettings, match=r"local\.settings\.json"):
        read_local_settings(tmp_path)


def test_host_json_when_bare_then_the_genuine_defaults(tmp_path: Path) -> None:
    host_json = read(tmp_path, {"version": "2.0"})
    assert host_json.function_timeout_s == 30 * 60
    assert host_json.functions is None
    assert host_json.http.route_prefix == "api"


def test_host_json_when_settings_override_it_then_they_win_whatever_their_case(tmp_path: Path) -> None:
    content = {"version": "2.0", "functionTimeout": "00:05:00", "extensions": {"queues": {"maxDequeueCount": 5}}}
    overrides = {
        "AzureFunctionsJobHost__FunctionTimeout": "-1",
        "AzureFunctionsJobHost__extensions__queues__maxDequeueCount": "3",
        "AzureFunctionsJobHost__extensions__http__routePrefix": "",
        "AzureFunctionsJobHost__logging__logLevel__Host.Results": "Error",
        "AzureFunctionsJobHost__functions__0": "One",
        "AzureFunctionsJobHost__functions__1": "two",
    }
    host_json = read(tmp_path, content, **overrides)
    assert host_json.function_timeout_s is None
    assert host_json.tree["extensions"]["queues"] == {"maxdequeuecount": "3"}
    assert host_json.http.route_prefix == ""
    assert host_json.log_levels == {"host.results": "Error"}
    assert host_json.functions == frozenset({"one", "two"})


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"version": "1.0"},
        {"version": "2.0", "functionTimeout": "00:00:00.5"},
        {"version": "2.0", "functionTimeout": "soon"},
        {"version": "2.0", "extensions": {"http": {"routePrefix": 1}}},
    ],
)
def test_host_json_when_wrong_then_it_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidHostJson, match=r"host\.json"):
        read(tmp_path, wrong)


def test_placeholders_when_resolved_then_once_and_only_if_there_is_a_value() -> None:
    settings = Settings({"QUEUE": "%OTHER%", "PART": "x"})
    assert resolve_placeholders("%queue%", settings) == "%OTHER%"
    assert resolve_placeholders("a-%PART%-b", settings) == "a-x-b"
    with pytest.raises(UnresolvedName, match="'%NONE%' does not resolve to a value"):
        resolve_placeholders("%NONE%", settings)


@pytest.mark.parametrize(
    ("environment", "name", "found"),
    [
        ({"ConnectionStrings__AzureWebJobsC": "1", "AzureWebJobsC": "2", "C": "3"}, "C", "1"),
        ({"AzureWebJobsC": "2", "C": "3"}, "C", "2"),
        ({"C": "3"}, "C", "3"),
        ({"AzureWebJobsStorage": "4"}, "", "4"),
        ({"AzureWebJobsStorage": "4"}, "Storage", "4"),
        ({"AzureWebJobsStorage": "4"}, "AzureWebJobsStorage", "4"),
        ({"C": "UseDevelopmentStorage=true"}, "C", DEVELOPMENT_STORAGE),
        ({"C": "3", "C__queueServiceUri": "https://x"}, "C", "3"),
    ],
)
def test_connection_when_looked_for_then_in_the_hosts_order(environment: dict[str, str], name: str, found: str) -> None:
    assert find_connection(name, Settings(environment)) == found


@pytest.mark.parametrize(
    ("environment", "name", "complaint"),
    [
        ({}, "C", "'C' does not exist"),
        ({}, None, "'AzureWebJobsStorage' does not exist"),
        ({"AzureWebJobsC__accountName": "x"}, "C", "identity-based"),
    ],
)
def test_connection_when_there_is_none_then_the_setting_is_named(
    environment: dict[str, str], name: str | None, complaint: str
) -> None:
    with pytest.raises(UnresolvedName, match=complaint):
        find_connection(name, Settings(environment))


def test_host_id_when_not_set_then_it_is_made_of_machine_and_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "My-Machine.local")
    # 23 * 31 + ord("/") and so on, as the genuine host counts, in 32 bits
    assert find_host_id(Settings({}), Path("/")) == "mymachinelocal-760"
    assert find_host_id(Settings({}), ROOT) != find_host_id(Settings({}), ROOT / "sub")
    assert len(find_host_id(Settings({}), Path("/" + "long" * 50))) <= 32
    assert find_host_id(Settings({"AzureFunctionsWebHost__hostid": "Mine"}), ROOT) == "Mine"


def test_times_when_set_then_they_replace_the_genuine_ones() -> None:
    assert HostTimes.from_settings(Settings({})).stop_seconds == 10
    assert HostTimes.from_settings(Settings({"SIMULATOR_HOST_STOP_SECONDS": "0.5"})).stop_seconds == 0.5
    with pytest.raises(InvalidTime):
        HostTimes.from_settings(Settings({"SIMULATOR_HOST_STOP_SECONDS": "soon"}))
