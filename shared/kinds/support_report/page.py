"""The report as one self-contained HTML page: no script, nothing loaded, every text escaped by the template engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shared.kinds.support_report import charts
from shared.kinds.support_report.charts import Chart
from shared.kinds.support_report.report import TEAMS, UNCLASSIFIED, Report

_TEAM_LABELS = {"billing": "Billing", "login": "Login", "shipping": "Shipping", "account": "Account", "other": "Other"}
_PRIORITY_LABELS = {"1": "1 – urgent", "2": "2 – normal", "3": "3 – can wait"}
_CHANNEL_LABELS = {"email": "E-mail", "web_form": "Web form", "chat": "Chat", "phone": "Phone"}
_NOT_YET = {UNCLASSIFIED: "Not classified yet"}
_TONES = {"1": "urgent", "3": "calm", UNCLASSIFIED: "calm"}
_TITLES = {timedelta(days=1): "Daily support report", timedelta(days=7): "Weekly support report"}


def _number(count: int) -> str:
    return f"{count:,}"


def _percent(share: float) -> str:
    return f"{share:.0f}%"


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {"number": _number, "percent": _percent}


@dataclass(frozen=True)
class Tile:
    """A number that is seen first."""

    label: str
    value: str
    note: str


def html(report: Report, *, is_draft: bool = False) -> str:
    """The page; a draft says that it is one."""
    return _ENVIRONMENT.get_template("report.html.jinja").render(
        report=report,
        taken=report.taken,
        findings=report.findings,
        is_draft=is_draft,
        title=_TITLES.get(report.taken.until - report.taken.since, "Support report"),
        period=period_in_words(report.taken.since, report.taken.until),
        taken_at=_time_in_words(report.taken.taken_at),
        has_part_days=not _are_midnights(report.taken.since, report.taken.until),
        tiles=_tiles(report),
        per_day=charts.columns("per-day", report.by_day),
        splits=_splits(report),
        plot=charts.PLOT_PX,
    )


def period_in_words(since: datetime, until: datetime) -> str:
    """Whole days as days, anything else with its times; UTC."""
    if until <= since or not _are_midnights(since, until):
        return f"{_time_in_words(since)} – {_time_in_words(until)}"
    days = [charts.day_in_words(day.astimezone(UTC)) for day in (since, until - timedelta(days=1))]
    return " – ".join(dict.fromkeys(days))


def _are_midnights(*moments: datetime) -> bool:
    return all(at.astimezone(UTC).time() == time.min for at in moments)


def _time_in_words(at: datetime) -> str:
    return f"{charts.day_in_words(at.astimezone(UTC))}, {at.astimezone(UTC):%H:%M} UTC"


def _splits(report: Report) -> list[Chart]:
    by_team = sorted(report.by_team.items(), key=lambda entry: (entry[0] == UNCLASSIFIED, -entry[1]))
    by_channel = sorted(report.by_channel.items(), key=lambda entry: -entry[1])
    return [
        charts.bars("by-team", "By team", _rows(by_team, _TEAM_LABELS)),
        charts.bars("by-priority", "By priority", _rows(report.by_priority.items(), _PRIORITY_LABELS)),
        charts.bars("by-channel", "By channel", _rows(by_channel, _CHANNEL_LABELS)),
    ]


def _rows(counts: Iterable[tuple[str, int]], labels: dict[str, str]) -> list[tuple[str, int, str]]:
    """Rows of a bar chart; what is not classified is shown only if there is any."""
    named = labels | _NOT_YET
    return [(named[key], count, _TONES.get(key, "plain")) for key, count in counts if count or key in labels]


def _tiles(report: Report) -> list[Tile]:
    tickets, in_period = report.taken.tickets, report.taken.in_period
    urgent = report.by_priority["1"]
    day, busiest = max(report.by_day.items(), key=lambda entry: entry[1], default=("", 0))
    team = max(TEAMS, key=report.by_team.__getitem__)
    if not busiest:
        return []
    busy_day = date.fromisoformat(day)
    tiles = [
        Tile("Tickets", f"{tickets:,}", f"the newest of {in_period:,}" if in_period > tickets else "in this period"),
        Tile("Urgent", f"{urgent:,}", f"{_percent(100 * urgent / tickets)} have priority 1"),
        Tile("Busiest day", f"{busy_day.day} {busy_day:%b}", f"{busy_day:%A}, {busiest:,} tickets"),
    ]
    if report.by_team[team]:
        share = _percent(100 * report.by_team[team] / tickets)
        tiles.insert(2, Tile("Busiest team", _TEAM_LABELS[team], f"{share} of all tickets"))
    return tiles
