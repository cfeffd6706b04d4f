"""azd's files agree with the templates, with the hook, and with the workflows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.database.deployment import Deployment
from tests.infra.template import INFRA, Deployed, parameters

ROOT = Path(__file__).parents[2]
AZD: dict[str, Any] = yaml.safe_load((ROOT / "azure.yaml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_parameters_file_has_every_parameter_that_a_text_can_carry() -> None:
    listed = set(_variables())
    assert listed == parameters().keys() - {"tags", "furtherSettings", "relaySchedule", "sweepSchedule"}


def test_parameters_file_falls_back_to_the_templates_own_defaults() -> None:
    # An empty variable, as GitHub makes it of one that is not set, would override a default with nothing.
    for name, (_, fallback) in _variables().items():
        default = parameters()[name]
        assert fallback == (default.strip("'") if re.fullmatch("'.+'", default) else None), name


def test_service_of_azd_is_found_by_its_tag(deployed: Deployed) -> None:
    assert list(AZD["services"]) == [deployed.app["tags"]["azd-service-name"]]
    (group,) = deployed.of("Microsoft.Resources/resourceGroups")
    assert group["tags"]["azd-env-name"] in group["name"]


def test_hook_is_there_with_what_it_needs() -> None:
    hook = AZD["hooks"]["postprovision"]
    assert (ROOT / hook["run"]).is_file()
    assert hook["kind"] == "python"
    assert (ROOT / hook["run"]).with_name("requirements.txt").is_file()
    for line in (INFRA / "requirements.txt").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[\w\[\]-]+==[\w.]+", line)


def test_hook_finds_all_it_reads_among_the_outputs(deployed: Deployed) -> None:
    assert Deployment.read(deployed.outputs).is_private == (deployed.mode == "private")


def test_pipeline_hands_over_what_the_workflow_reads_and_parameters_take() -> None:
    given = {*AZD["pipeline"]["variables"], *AZD["pipeline"]["secrets"]}
    assert given <= {variable for variable, _ in _variables().values()}
    deploy = (ROOT / ".github" / "workflows" / "azure-dev.yml").read_text(encoding="utf-8")
    assert {*re.findall(r"(\w+): \$\{\{ secrets\.\1 \}\}", deploy)} == {*AZD["pipeline"]["secrets"]}
    azures = {"AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_SUBSCRIPTION_ID", "AZURE_ENV_NAME", "AZURE_LOCATION"}
    assert {*re.findall(r"(\w+): \$\{\{ vars\.\1 \}\}", deploy)} == {*AZD["pipeline"]["variables"], *azures}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_uses_pinned_actions_and_may_do_little(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    foreign = [use for use in re.findall(r"uses: (\S+)", text) if not use.startswith("./")]
    assert foreign
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use) for use in foreign)
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


def test_workflow_when_deploying_then_signs_in_without_a_password_and_after_the_tests() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "azure-dev.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["deploy"]["needs"] == "test"
    assert jobs["test"] == {"uses": "./.github/workflows/ci.yml"}
    assert jobs["deploy"]["permissions"]["id-token"] == "write"
    commands = " ".join(step.get("run", "") for step in jobs["deploy"]["steps"])
    assert "--federated-credential-provider github" in commands
    assert "client-secret" not in commands


def _variables() -> dict[str, tuple[str, str | None]]:
    """Of each parameter in azd's file the variable that fills it, and what it is when the variable is empty."""
    content = json.loads((INFRA / "main.parameters.json").read_text(encoding="utf-8"))
    found = {}
    for name, parameter in content["parameters"].items():
        match = re.fullmatch(r"\$\{(\w+)(?:=(.*))?\}", parameter["value"])
        assert match, f"{name}: {parameter['value']}"
        found[name] = (match[1], match[2])
    return found
