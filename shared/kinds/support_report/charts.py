"""Charts as numbers: widths in percent and heights in pixels, so that text keeps its size on every screen. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

MOST_DAYS = 62  # of a longer period weeks are drawn
MOST_VALUES = 14  # of more columns only the highest shows its number
MOST_TICKS = 8
PLOT_PX = 140


@dataclass(frozen=True)
class Bar:
    """One row of a bar chart: `length` in percent of the longest, `share` in percent of all."""

    label: str
    count: int
    length: float
    share: float
    tone: str


@dataclass(frozen=True)
class Column:
    """One day or week: `left` and `width` in percent, `height` in pixels; empty texts are not shown.

    `tick` is two lines below the axis.
    """

    label: str
    count: int
    left: float
    width: float
    height: float
    value: str
    tick: tuple[str, str]

    @property
    def middle(self) -> float:
        return round(self.left + self.width / 2, 3)


@dataclass(frozen=True)
class Chart:
    """A chart; `description` says what it shows to those who do not see it."""

    name: str
    title: str
    description: str
    bars: tuple[Bar, ...] = ()
    columns: tuple[Column, ...] = ()


def bars(name: str, title: str, rows: Iterable[tuple[str, int, str]]) -> Chart:
    """Horizontal bars of (label, count, tone), in this order."""
    rows = list(rows)
    longest = max((count for _, count, _ in rows), default=0) or 1
    whole = sum(count for _, count, _ in rows) or 1
    drawn = tuple(
        Bar(label, count, round(100 * count / longest, 2), 100 * count / whole, tone) for label, count, tone in rows
    )
    return Chart(name, title, _in_words((bar.label, bar.count) for bar in drawn), bars=drawn)


def columns(name: str, by_day: Mapping[str, int]) -> Chart:
    """Columns over time, one a day or, in a long period, one a week."""
    points = [(date.fromisoformat(day), count) for day, count in by_day.items()]
    is_weekly = len(points) > MOST_DAYS
    points = _by_week(points) if is_weekly else points
    highest = max((count for _, count in points), default=0) or 1
    slot = 100 / max(1, len(points))
    every = -(-len(points) // MOST_TICKS)

    def column(at: int, day: date, count: int) -> Column:
        has_value = count > 0 and (len(points) <= MOST_VALUES or count == highest)
        return Column(
            label=f"{'Week of ' if is_weekly else ''}{day_in_words(day)}",
            count=count,
            left=round((at + 0.14) * slot, 3),
            width=round(0.72 * slot, 3),
            height=round(PLOT_PX * count / highest, 1),
            value=str(count) if has_value else "",
            tick=_tick(day, is_first=at == 0, is_close=len(points) <= MOST_VALUES) if at % every == 0 else ("", ""),
        )

    drawn = tuple(column(at, day, count) for at, (day, count) in enumerate(points))
    title = f"Tickets per {'week' if is_weekly else 'day'}"
    return Chart(name, title, _in_words((each.label, each.count) for each in drawn), columns=drawn)


def day_in_words(day: date) -> str:
    """Sun 29 Nov 2026."""
    return f"{day:%a} {day.day} {day:%b %Y}"


def _tick(day: date, *, is_first: bool, is_close: bool) -> tuple[str, str]:
    """Narrow enough that eight of them stand side by side on a phone."""
    if not is_close:
        return str(day.day), f"{day:%b}"
    return f"{day:%a}", f"{day.day} {day:%b}" if is_first or day.day == 1 else str(day.day)


def _by_week(points: list[tuple[date, int]]) -> list[tuple[date, int]]:
    """The same, added up by the Mondays of the weeks."""
    weeks: dict[date, int] = {}
    for day, count in points:
        monday = day - timedelta(days=day.weekday())
        weeks[monday] = weeks.get(monday, 0) + count
    return list(weeks.items())


def _in_words(counts: Iterable[tuple[str, int]]) -> str:
    return "; ".join(f"{label}: {count}" for label, count in counts) + "."
