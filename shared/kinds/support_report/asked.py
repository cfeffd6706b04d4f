"""What a caller may say about a report: the period, and how many tickets at most."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

LONGEST = timedelta(days=366)
MOST_TICKETS = 10_000

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})", re.ASCII)
_NO_DATE = "must be a date (2026-11-29) or an RFC 3339 time (2026-11-29T21:00:00Z)"


def _moment(value: Any, *, days_later: int = 0) -> datetime | None:
    """A date is its midnight in UTC, `days_later`; a time is itself."""
    if value is None or isinstance(value, datetime):
        return value
    text = value.upper() if isinstance(value, str) else ""
    try:
        if _DATE.fullmatch(text):
            return datetime.fromisoformat(text).replace(tzinfo=UTC) + timedelta(days=days_later)
        if _INSTANT.fullmatch(text):
            return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        pass  # the 30th of February, the year 0
    raise PydanticCustomError("no_date", _NO_DATE)


Start = Annotated[datetime, BeforeValidator(_moment)]
End = Annotated[datetime, BeforeValidator(lambda value: _moment(value, days_later=1))]


class ReportInput(BaseModel):
    """The period [from, to); a `to` that is a date includes that day. Default: the last seven days.

    At most 366 days, and the newest `max_tickets` tickets of them.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    to: End | None = None
    from_: Start | None = Field(default=None, alias="from")
    max_tickets: int = Field(default=MOST_TICKETS, ge=1, le=MOST_TICKETS)

    @field_validator("from_")
    @classmethod
    def begins_before_the_end(cls, start: datetime | None, info: ValidationInfo) -> datetime | None:
        """Without `to` the period ends when the work begins, which is not before now."""
        if start is None or "to" not in info.data:
            return start
        end = info.data["to"] or datetime.now(UTC)
        if start >= end:
            raise PydanticCustomError("no_period", "must lie before the end of the period, `to` or now")
        if end - start > LONGEST:
            raise PydanticCustomError("no_period", f"the period must not be longer than {LONGEST.days} days")
        return start
