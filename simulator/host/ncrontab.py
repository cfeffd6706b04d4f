"""The timer trigger's schedule texts: NCRONTAB with five or six fields, or a TimeSpan such as `00:05:00`.

Pure. Clock changes are not looked for: the stand-in counts in UTC, as Azure does.
"""

import re
from abc import ABC, abstractmethod
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import ClassVar

from simulator.host.cron_field import FIELDS, CronError, read_cron


class ScheduleError(ValueError):
    """The text is neither a cron expression nor a TimeSpan: the function cannot be indexed."""


class Schedule(ABC):
    """When a timer is due."""

    adjusts_for_dst: ClassVar[bool]

    @staticmethod
    def parse(text: str) -> "Schedule":
        """Read cron first, TimeSpan second. Raises ScheduleError, which ends in the complaint about the cron."""
        try:
            return Cron(*read_cron(text))
        except CronError as complaint:
            if period := read_timespan(text):
                return Interval(period)
            raise ScheduleError(
                f"The schedule expression '{text}' was not recognized as a valid cron expression"
                f" or timespan string: {complaint}"
            ) from complaint

    @property
    @abstractmethod
    def is_subminute(self) -> bool:
        """Due more than once within some minute: the host keeps no status of such a timer."""

    @abstractmethod
    def next_after(self, moment: datetime) -> datetime:
        """The first occurrence later than `moment`, in its time zone; `datetime.max` when there is none."""


@dataclass(frozen=True)
class Interval(Schedule):
    adjusts_for_dst = False
    period: timedelta

    @property
    def is_subminute(self) -> bool:
        return self.period < timedelta(minutes=1)

    def next_after(self, moment: datetime) -> datetime:
        return moment + self.period


@dataclass(frozen=True)
class Cron(Schedule):
    """The values each field allows, ascending. Day of month and day of week must both fit; Sunday is 0."""

    adjusts_for_dst = True
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]

    @property
    def is_subminute(self) -> bool:
        coarse = (self.minutes, self.hours, self.days, self.months, self.weekdays)
        return len(self.seconds) > 1 and coarse == tuple(field.every_value for field in FIELDS[1:])

    def next_after(self, moment: datetime) -> datetime:
        floor = (moment.hour, moment.minute, moment.second)
        for day in self._days_from(moment.date()):
            if found := self._first_time(floor if day == moment.date() else BEFORE_MIDNIGHT):
                return datetime.combine(day, found, moment.tzinfo)
        return datetime.max.replace(tzinfo=moment.tzinfo)

    def _days_from(self, start: date) -> Iterator[date]:
        first = start.year * 12 + start.month - 1
        end = min(first + 400 * 12 + 1, 10_000 * 12)  # the calendar repeats after 400 years
        for year, month in ((n // 12, n % 12 + 1) for n in range(first, end) if n % 12 + 1 in self.months):
            days = (date(year, month, day) for day in self.days if day <= monthrange(year, month)[1])
            yield from (day for day in days if day >= start and day.isoweekday() % 7 in self.weekdays)

    def _first_time(self, floor: tuple[int, int, int]) -> time | None:
        hours = (h for h in self.hours if h >= floor[0])
        minutes = ((h, m) for h in hours for m in self.minutes if (h, m) >= floor[:2])
        return next((time(h, m, s) for h, m in minutes for s in self.seconds if (h, m, s) > floor), None)


BEFORE_MIDNIGHT = (-1, -1, -1)
CLOCK = r"(?P<hours>\d\d?):(?P<minutes>\d\d?)(?::(?P<seconds>\d\d?(?:\.\d{1,7})?))?"
TIMESPANS = (r"(?P<days>\d{1,6})", CLOCK, r"(?P<days>\d{1,6})[.:]" + CLOCK)


def read_timespan(text: str) -> timedelta | None:
    """Read as .NET does: `h:m`, `h:m:s`, `days`, `days.h:m:s`; a first number over 23 means days as well.

    None for anything else, negative spans among it.
    """
    for shape in TIMESPANS:
        if match := re.fullmatch(shape, text.strip(), re.ASCII):
            parts = {unit: float(number) for unit, number in match.groupdict().items() if number}
            if parts.get("hours", 0) < 24 and parts.get("minutes", 0) < 60 and parts.get("seconds", 0) < 60:
                return timedelta(**parts)
    return None
