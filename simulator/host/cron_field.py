"""One field of an NCRONTAB expression: what may stand in it, and the values its text allows.

The rules are the genuine parser's (NCrontab.Signed 3.3.2, recorded in tests/recordings/ncrontab.jsonl).
"""

import re
from dataclasses import dataclass


class CronError(ValueError):
    """The text is not a cron expression; the message is worded as the genuine parser words it."""


@dataclass(frozen=True)
class CronField:
    name: str
    low: int
    high: int
    words: str = ""

    @property
    def every_value(self) -> tuple[int, ...]:
        return tuple(range(self.low, self.high + 1))

    def read(self, text: str) -> tuple[int, ...]:
        """The values allowed by a comma list of `*`, `a`, `a-b`, each with `/step` or without; ascending."""
        try:
            return tuple(sorted({value for element in text.split(",") for value in self._read_element(element)}))
        except LookupError:
            raise CronError(f"'{text}' is not a valid [{self.name}] crontab field expression.") from None

    def _read_element(self, element: str) -> range:
        match = re.fullmatch(r"(?:\*|(\w+)(?:-(\w+))?)(?:/(-?\d+))?", element, re.ASCII)
        if not match:
            raise LookupError(element)
        first, last, step = match.groups()
        if first is None:
            ends = [self.low, self.high]
        elif last is None:
            ends = [self._read_value(first), self.high if step else self._read_value(first)]
        else:
            ends = [self._read_value(first), self._read_value(last)]
        low, high = sorted(ends)  # a falling range is turned round, never wrapped
        self._check_limits(low, high)
        return range(low, high + 1, max(int(step or 1), 1))

    def _read_value(self, word: str) -> int:
        if word.isdecimal():
            return int(word)
        names = enumerate(self.words.split(), self.low)
        found = next((value for value, name in names if name.lower().startswith(word.lower())), None)
        if found is None:
            raise LookupError(word)
        return found

    def _check_limits(self, low: int, high: int) -> None:
        limits = f"Value must be between {self.low} and {self.high} (all inclusive)."
        if low < self.low:
            raise CronError(f"{low} is lower than the minimum allowable value for the [{self.name}] field. {limits}")
        if high > self.high:
            raise CronError(f"{high} is higher than the maximum allowable value for the [{self.name}] field. {limits}")


FIELDS = (
    CronField("Second", 0, 59),
    CronField("Minute", 0, 59),
    CronField("Hour", 0, 23),
    CronField("Day", 1, 31),
    CronField(
        "Month",
        1,
        12,
        "January February March April May June July August September October November December",
    ),
    CronField("DayOfWeek", 0, 6, "Sunday Monday Tuesday Wednesday Thursday Friday Saturday"),
)


def read_cron(text: str) -> list[tuple[int, ...]]:
    """The values allowed in all six fields, seconds first; five fields mean second 0. Raises CronError."""
    words = [word for word in text.split(" ") if word]
    if len(words) == 5:
        words.insert(0, "0")
    if len(words) != 6:
        raise CronError(
            f"'{text}' is an invalid crontab expression. It must contain 5 components of a schedule"
            " in the sequence of minutes, hours, days, months, and days of week."
        )
    return [field.read(word) for field, word in zip(FIELDS, words, strict=True)]
