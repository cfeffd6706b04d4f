"""The chapter on deploying says what the templates and the file of prices say."""

from __future__ import annotations

import json
import re

import pytest

from infra.costs.__main__ import tables
from infra.costs.month import Prices, bill, gb_seconds, timer_runs
from tests.infra.template import INFRA

README = (INFRA / "README.md").read_text(encoding="utf-8")
PARAMETER = re.compile(r"@description\('((?:[^'\\]|\\.)*)'\)\n(?:@.*\n)*param (\w+) \w+(?: = (.*))?\n")


def test_readme_has_every_parameter_as_the_template_describes_it() -> None:
    source = (INFRA / "main.bicep").read_text(encoding="utf-8")
    variables = json.loads((INFRA / "main.parameters.json").read_text(encoding="utf-8"))["parameters"]
    rows = []
    for description, name, default in PARAMETER.findall(source):
        variable = re.sub(r"\W.*", "", variables[name]["value"].lstrip("${")) if name in variables else ""
        shown = f"`{text}`" if (text := default.strip("'")) else "" if default else "**needed**"
        what = description.replace("\\'", "'")
        rows.append(f"| `{name}` | {f'`{variable}`' if variable else ''} | {shown} | {what} |")
    assert len(rows) == len(re.findall(r"^param ", source, re.MULTILINE))
    assert "\n".join(rows) in README


def test_readme_has_the_costs_as_they_are_computed() -> None:
    assert tables(Prices.read()) in README


def test_prices_say_where_they_come_from() -> None:
    prices = Prices.read()
    assert all(source for _, source, _ in prices.sources())
    marked = {line.what for line in bill(prices, 0) if not line.is_checked}
    assert all(f"| {what} ¹ |" in README for what in marked)
    assert README.count(" ¹ |") == len(marked)


def test_bill_when_there_are_more_tickets_then_only_what_is_used_costs_more() -> None:
    prices = Prices.read()
    idle, busy = ({line.what: line.usd for line in bill(prices, tickets)} for tickets in (0, 100_000))
    assert idle["provider's tokens"] == 0
    assert {what for what in idle if busy[what] > idle[what]} == {"functions", "storage", "provider's tokens"}


def test_timers_then_fire_as_often_as_the_template_lets_them() -> None:
    # Every 15 s and every minute for 730 hours; a second each, at 2 GB.
    prices = Prices.read()
    assert timer_runs(prices) == pytest.approx(730 * 60 * (4 + 1))
    assert gb_seconds(prices, 0, 2048) == pytest.approx(2 * 219_000)
