"""App and templates tell of the same: settings, queues, connections, schedules, Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from azure.monitor.opentelemetry.exporter import _constants

from shared.settings import Settings
from simulator.host.ncrontab import Schedule
from tests.ears import QUIET
from tests.front import functions, trigger_of
from tests.infra.template import INFRA, Deployed, allowed, parameters

ROOT = Path(__file__).parents[2]

# What the host, its extensions and Azure's libraries read; the app's own settings are those of the model.
OF_THE_PLATFORM = re.compile(
    r"AzureWebJobsStorage__(blobServiceUri|credential|clientId)|JobsQueue__(queueServiceUri|credential|clientId)"
    r"|AzureWebJobsDisableHomepage"
    r"|APPLICATIONINSIGHTS_(CONNECTION|AUTHENTICATION)_STRING|APPLICATIONINSIGHTS_\w+_DISABLED(_ALL)?|AZURE_CLIENT_ID"
)
OF_THE_IDENTITY = {"DATABASE_AUTH"}
# Connections that a server of this size has for users: max_connections less the 15 of Azure's own.
# https://learn.microsoft.com/azure/postgresql/configure-maintain/concepts-limits, November 2025
CONNECTIONS = {
    "Standard_B1ms": 35,
    "Standard_B2s": 414,
    "Standard_B2ms": 844,
    "Standard_D2ds_v5": 844,
    "Standard_D4ds_v5": 1703,
}


def test_every_setting_is_one_that_somebody_reads(deployed: Deployed) -> None:
    known = {field.alias or name.upper() for name, field in Settings.model_fields.items()}
    unread = deployed.settings.keys() - known - _asked_for_by_triggers()
    assert not {name for name in unread if not OF_THE_PLATFORM.fullmatch(name)}


def test_exporter_is_quiet_about_itself_by_switches_that_it_knows(deployed: Deployed) -> None:
    said = {name: value for name, value in deployed.settings.items() if "_DISABLED" in name}
    # Another version of it may bring another switch.
    known = {value for value in vars(_constants).values() if isinstance(value, str) and "_DISABLED" in value}
    assert said == QUIET
    assert said.keys() == known


def test_every_setting_that_the_app_cannot_do_without_is_set(deployed: Deployed) -> None:
    needed = {name.upper() for name, field in Settings.model_fields.items() if field.is_required() and not field.alias}
    assert needed <= deployed.settings.keys()
    assert _asked_for_by_triggers() <= deployed.settings.keys()


def test_app_when_started_with_these_settings_then_it_signs_in_with_its_identity_everywhere(deployed: Deployed) -> None:
    settings = Settings.read(deployed.settings)
    assert settings.database_auth == "entra"
    assert settings.queue_service_uri == deployed.settings["JobsQueue__queueServiceUri"]
    assert settings.client_id == deployed.settings["AzureWebJobsStorage__clientId"]
    assert settings.database_prepare


def test_every_secret_of_the_app_can_be_given(deployed: Deployed) -> None:
    secret = {name.upper() for name, field in Settings.model_fields.items() if not field.repr and not field.alias}
    assert secret <= deployed.settings.keys()


def test_queue_settings_name_queues_that_exist(deployed: Deployed) -> None:
    asked = {trigger["queueName"].strip("%") for trigger in _triggers("queueTrigger")}
    names = {deployed.settings[setting] for setting in asked}
    assert names == {Settings.model_fields[setting.lower()].default for setting in asked}
    assert deployed.queues == names | {f"{name}-poison" for name in names}


def test_every_queue_trigger_has_the_connection_that_is_set(deployed: Deployed) -> None:
    assert {trigger["connection"] for trigger in _triggers("queueTrigger")} == {"JobsQueue"}
    assert {"JobsQueue__queueServiceUri", "JobsQueue__credential", "JobsQueue__clientId"} <= deployed.settings.keys()
    # A plain value beside them would win.
    assert not {"JobsQueue", "AzureWebJobsStorage"} & deployed.settings.keys()


def test_connections_of_all_scale_groups_at_their_largest_fit_into_the_database(deployed: Deployed) -> None:
    # maximumInstanceCount is a limit of each group: HTTP is one, and so is every other function; a timer runs once.
    # Flex Consumption lets nobody set FUNCTIONS_WORKER_PROCESS_COUNT: one process an instance, with one pool.
    scale = deployed.app["properties"]["functionAppConfig"]["scaleAndConcurrency"]
    groups = len(_triggers("queueTrigger")) + 1
    instances = groups * scale["maximumInstanceCount"] + len(_triggers("timerTrigger"))
    server = deployed.one("Microsoft.DBforPostgreSQL/flexibleServers")
    pool = int(deployed.settings["DATABASE_POOL_SIZE"])
    assert pool >= 2
    assert instances * pool <= CONNECTIONS[server["sku"]["name"]]


def test_database_sizes_have_the_connections_that_are_counted_with() -> None:
    source = (INFRA / "main.bicep").read_text(encoding="utf-8")
    found = re.findall(r"(Standard_\w+): \{ tier: '\w+', connections: (\d+) \}", source)
    assert {name: int(number) for name, number in found} == CONNECTIONS
    assert allowed("databaseSku") == set(CONNECTIONS)


def test_timers_are_counted_as_many_as_there_are() -> None:
    source = (INFRA / "main.bicep").read_text(encoding="utf-8")
    assert re.findall(r"^var timers = (\d+)$", source, re.MULTILINE) == [str(len(_triggers("timerTrigger")))]


def test_http_concurrency_is_said_and_not_left_to_the_platform(deployed: Deployed) -> None:
    # Left out, a Python app gets one request at a time.
    triggers = deployed.app["properties"]["functionAppConfig"]["scaleAndConcurrency"]["triggers"]
    assert triggers["http"]["perInstanceConcurrency"] > int(deployed.settings["DATABASE_POOL_SIZE"])


def test_timers_fire_seldom_enough_for_the_bill(deployed: Deployed) -> None:
    # Every second, as on one's own machine, would keep a paid instance alive around the clock.
    schedules = {trigger["schedule"].strip("%") for trigger in _triggers("timerTrigger")}
    assert {name: deployed.settings[name] for name in schedules} == {
        "RELAY_SCHEDULE": "*/15 * * * * *",
        "SWEEP_SCHEDULE": "0 * * * * *",
    }
    for name in schedules:
        Schedule.parse(deployed.settings[name])


def test_python_is_one_of_those_that_are_tested(deployed: Deployed) -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    tested = set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"])
    assert allowed("pythonVersion") == tested == {"3.11", "3.12", "3.13"}
    assert deployed.app["properties"]["functionAppConfig"]["runtime"] == {"name": "python", "version": "3.12"}


@pytest.mark.parametrize("name", ["relaySchedule", "sweepSchedule", "furtherSettings", "tags"])
def test_parameters_that_environments_cannot_carry_have_a_default(name: str) -> None:
    # A schedule has characters that azd's substitution may take for its own, and a machine may have one set for itself.
    assert parameters()[name]


def _triggers(kind: str) -> list[dict[str, Any]]:
    """What the functions of that kind of trigger say of it."""
    found = [trigger_of(function) for function in functions()]
    return [trigger for trigger in found if trigger["type"] == kind]


def _asked_for_by_triggers() -> set[str]:
    """Settings named as %NAME% by a trigger."""
    return {name for function in functions() for name in re.findall(r"%(\w+)%", str(trigger_of(function)))}
