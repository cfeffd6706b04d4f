"""The page: self-contained, escaped, and with numbers that add up."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.kinds.support_report.findings import Problem
from shared.kinds.support_report.lines import one_line
from shared.kinds.support_report.page import html, period_in_words
from tests.reports import HOSTILE, NOW, Page, report

ELEMENTS = """
html head meta title style body main p strong header h1 h2 section dl div dt dd table thead tbody tr th td span svg g
desc text tspan rect line footer bdi
"""
ATTRIBUTES = """
lang charset name content class id aria-labelledby aria-hidden role scope dir width height x y rx x1 x2 y1 y2 transform
"""


def is_tame(page: Page) -> bool:
    """Nothing runs, nothing is loaded, nothing leads anywhere."""
    assert page.names <= set(ELEMENTS.split())
    assert page.attributes <= set(ATTRIBUTES.split())
    return True


def hostile(text: str) -> Page:
    """The page of a report with `text` in every place that others fill."""
    line = one_line(text, 140)
    problems = (Problem(line, line, 2, (line, line)),)
    return Page.of(html(report(task=text, summary=line, problems=problems)))


def test_page_then_has_nothing_that_runs_or_loads_and_shows_what_it_knows() -> None:
    text = html(report(tickets=1234))
    page = Page.of(text)
    assert is_tame(page)
    assert not re.search(r"url\(|@import|https?:", text)
    for shown in ("Weekly support report", "team_42", "1,234", "Top issues were double charges.", "Double charges"):
        assert shown in page.text
    assert "T-1, T-2" in page.text
    assert ("html", {"lang": "en"}) in page.elements
    assert "width=device-width" in text
    assert "Draft" not in page.text


@pytest.mark.parametrize("text", HOSTILE)
def test_page_when_texts_are_hostile_then_shows_them_as_they_are(text: str) -> None:
    page = hostile(text)
    assert is_tame(page)
    assert page.text.count(one_line(text, 140)) >= 5
    assert " ".join(text.split()) in page.text


@given(st.text(max_size=200))
def test_page_when_texts_are_anything_then_stays_tame(text: str) -> None:
    assert is_tame(hostile(text))


def test_charts_then_describe_themselves_to_those_who_do_not_see_them() -> None:
    page = Page.of(html(report(tickets=10, by_team={"billing": 7, "login": 3})))
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    charts = [attributes for name, attributes in page.elements if name == "svg" and attributes.get("role") == "img"]
    assert len(charts) == 4
    assert all(set(str(chart["aria-labelledby"]).split()) <= ids for chart in charts)
    assert "Billing: 7; Login: 3; Shipping: 0; Account: 0; Other: 0." in page.text
    assert len(ids) == sum("id" in attributes for _, attributes in page.elements)


def test_draft_then_says_so_and_is_else_the_same() -> None:
    draft, final = Page.of(html(report(), is_draft=True)), Page.of(html(report()))
    assert "Draft: not approved yet." in draft.text
    assert is_tame(draft)
    note = "Draft: not approved yet. It is published when somebody approves it. "
    assert draft.text.replace(note, "").replace(" (draft)", "") == final.text


def test_page_when_there_was_no_ticket_then_says_so_without_charts() -> None:
    page = Page.of(html(report(tickets=0)))
    assert is_tame(page)
    assert "No tickets came to team_42 in this period." in page.text
    assert "svg" not in page.names
    assert "Major problems" not in page.text


def test_page_when_not_all_tickets_were_read_then_says_so() -> None:
    page = Page.of(html(report(tickets=100, in_period=2500)))
    assert "2,500 tickets came in this period; this report is about the newest 100." in page.text
    assert "the newest of 2,500" in page.text
    assert "newest" not in Page.of(html(report(tickets=100))).text


def test_page_when_tickets_are_not_classified_yet_then_shows_how_many() -> None:
    page = Page.of(html(report(tickets=10, by_team={"billing": 4, "unclassified": 6})))
    assert "Not classified yet: 6" in page.text
    assert "Not classified yet" not in Page.of(html(report(tickets=10))).text


def test_document_then_has_every_name_and_day_and_its_numbers_add_up() -> None:
    made = report(tickets=9, by_team={"billing": 4, "unclassified": 5}, by_day={"2026-11-23": 2, "2026-11-29": 7})
    document = json.loads(made.json_text)
    assert list(document["by_team"]) == ["billing", "login", "shipping", "account", "other", "unclassified"]
    assert list(document["by_priority"]) == ["1", "2", "3", "unclassified"]
    assert list(document["by_channel"]) == ["email", "web_form", "chat", "phone"]
    assert list(document["by_day"]) == [f"2026-11-{day}" for day in range(22, 30)]
    for split in ("by_team", "by_priority", "by_channel", "by_day"):
        assert sum(document[split].values()) == document["tickets"] == 9
    assert document["period"] == {"from": "2026-11-22T12:00:00.000Z", "to": "2026-11-29T12:00:00.000Z"}
    assert document["problems"][0]["examples"] == ["T-1", "T-2"]


def test_period_when_whole_days_then_named_without_times() -> None:
    midnight = datetime(2026, 11, 2, tzinfo=UTC)
    assert period_in_words(midnight, midnight + timedelta(days=1)) == "Mon 2 Nov 2026"
    assert period_in_words(midnight, midnight + timedelta(days=7)) == "Mon 2 Nov 2026 – Sun 8 Nov 2026"
    assert period_in_words(midnight, midnight) == "Mon 2 Nov 2026, 00:00 UTC – Mon 2 Nov 2026, 00:00 UTC"
    assert period_in_words(midnight, NOW) == "Mon 2 Nov 2026, 00:00 UTC – Sun 29 Nov 2026, 12:00 UTC"


@pytest.mark.parametrize(
    ("days", "title", "columns"),
    [(1, "Tickets per day", 2), (7, "Tickets per day", 8), (30, "Tickets per day", 31), (366, "Tickets per week", 53)],
)
def test_time_chart_when_the_period_is_long_then_of_weeks(days: int, title: str, columns: int) -> None:
    page = Page.of(html(report(days=days)))
    assert title in page.text
    shown = [attributes for name, attributes in page.elements if name == "rect" and attributes.get("rx") == "2"]
    assert len(shown) == columns
    assert sum(float(str(attributes["height"])) > 0 for attributes in shown) == 1
    assert all(0 <= float(str(attributes["x"]).rstrip("%")) < 100 for attributes in shown)
    ticks = [attributes for name, attributes in page.elements if attributes.get("class") == "tick"]
    assert 2 <= len(ticks) <= 2 * 8
