"""Alerts that reach somebody, and that a new workspace does not choke on."""

from __future__ import annotations

import json
import re

import pytest

from shared.signals import GAUGES
from tests.ears import Ears
from tests.infra.template import INFRA, Deployed

RULES = "Microsoft.Insights/scheduledQueryRules"
METRIC = re.compile(r"larkfield\.\w+")


def test_every_rule_there_is_goes_to_somebody(deployed: Deployed) -> None:
    rules = {rule["properties"]["displayName"]: rule["properties"] for rule in deployed.of(RULES)}
    assert set(rules) == {"oldest-job", "no-sample", "failed-requests", "outbox-age", "dead-letters"}
    assert all(rule["actions"]["actionGroups"] for rule in rules.values())
    metrics = [rule["properties"] for rule in deployed.of("Microsoft.Insights/metricAlerts")]
    watched = {criterion["metricName"] for rule in metrics for criterion in rule["criteria"]["allOf"]}
    assert watched == {"storage_percent", "active_connections"}
    assert all(rule["actions"] for rule in metrics)
    for group in deployed.of("Microsoft.Insights/actionGroups"):
        assert group["properties"]["enabled"]
        assert group["properties"]["emailReceivers"]
        assert len(group["properties"]["groupShortName"]) <= 12


def test_only_what_cannot_wait_reaches_the_phone() -> None:
    private = Deployed("private")
    reaching = {
        group["id"]
        for group in private.of("Microsoft.Insights/actionGroups")
        if group["properties"].get("smsReceivers")
    }
    assert len(reaching) == 1
    woken = {
        rule["properties"]["displayName"]
        for rule in private.of(RULES)
        if reaching & set(rule["properties"]["actions"]["actionGroups"])
    }
    assert woken == {"oldest-job", "no-sample", "failed-requests"}
    assert {rule["properties"]["severity"] for rule in private.of(RULES)} == {1, 2}


def test_rules_stand_before_the_first_row_of_their_table_has_come(deployed: Deployed) -> None:
    for rule in deployed.of(RULES):
        assert rule["properties"]["skipQueryValidation"] is True
        for criterion in rule["properties"]["criteria"]["allOf"]:
            # A union that may find nothing needs a second leg that always resolves.
            assert re.match(r"union isfuzzy=true \w+, \(datatable\(.*\)\[\]\)", criterion["query"])


def test_silence_is_an_alert_too(deployed: Deployed) -> None:
    (rule,) = [rule["properties"] for rule in deployed.of(RULES) if rule["properties"]["displayName"] == "no-sample"]
    (criterion,) = rule["criteria"]["allOf"]
    assert (criterion["timeAggregation"], criterion["operator"], criterion["threshold"]) == ("Count", "LessThan", 1)
    assert rule["windowSize"] == "PT15M"


def test_connections_alert_comes_before_the_last_one_is_taken(deployed: Deployed) -> None:
    server = deployed.one("Microsoft.DBforPostgreSQL/flexibleServers")["sku"]["name"]
    limits = {"Standard_B1ms": 35, "Standard_D2ds_v5": 844}
    (rule,) = [
        criterion
        for alert in deployed.of("Microsoft.Insights/metricAlerts")
        for criterion in alert["properties"]["criteria"]["allOf"]
        if criterion["metricName"] == "active_connections"
    ]
    assert 0.7 * limits[server] < rule["threshold"] < limits[server]


def test_alerts_ask_for_what_the_sweep_measures(deployed: Deployed) -> None:
    alerts = METRIC.findall(json.dumps([rule["properties"]["criteria"] for rule in deployed.of(RULES)]))
    assert alerts
    assert set(alerts) <= set(GAUGES)


def test_workbook_shows_every_metric_of_the_app_and_no_other(deployed: Deployed) -> None:
    workbook = (INFRA / "modules" / "workbook.json").read_text(encoding="utf-8")
    assert set(METRIC.findall(workbook)) == {*GAUGES, *metrics_of_the_work()}
    assert deployed.one("Microsoft.Insights/workbooks")["properties"]["serializedData"] == workbook


@pytest.mark.parametrize(
    ("metric", "dimensions"),
    [
        ("oldest_queued_seconds", {"kind"}),
        ("outbox_oldest_seconds", {"queue"}),
        ("breaker_open", {"endpoint"}),
        ("step_seconds", {"kind", "step"}),
        ("tokens", set()),
    ],
)
def test_workbook_splits_a_metric_by_the_dimensions_that_it_has(metric: str, dimensions: set[str]) -> None:
    items = json.loads((INFRA / "modules" / "workbook.json").read_text(encoding="utf-8"))["items"]
    [query] = [item["content"]["query"] for item in items if f"larkfield.{metric}'" in item["content"].get("query", "")]
    assert set(re.findall(r"Properties\.(\w+)", query)) == dimensions


def metrics_of_the_work() -> set[str]:
    """The names of what is measured while jobs are done."""
    ears = Ears()
    ears.telemetry.signals.tokens.add(1)
    ears.telemetry.signals.step_seconds.record(1)
    return {name for name, _, _ in ears.samples()}


def test_budget_when_an_amount_is_given_then_from_a_fixed_month_on() -> None:
    # Azure refuses to move the beginning of a budget, so it must not follow the calendar.
    budget = Deployed("private").one("Microsoft.Consumption/budgets")["properties"]
    assert budget["timePeriod"]["startDate"] == "2026-12-01"
    assert all(note["contactEmails"] for note in budget["notifications"].values())
    assert not Deployed("public").of("Microsoft.Consumption/budgets")
