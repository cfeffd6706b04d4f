"""What host.json says about queue triggers, with genuine defaults and limits; and the times it cannot set."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from simulator.host.ncrontab import read_timespan

log = logging.getLogger(__name__)

MessageEncoding = Literal["base64", "none"]

LONGEST_POLL = timedelta(minutes=1)
DEVELOPMENT_POLL = timedelta(seconds=2)


class InvalidQueueSettings(ValueError):
    """host.json holds a value that the genuine host refuses too."""


@dataclass(frozen=True)
class QueueSettings:
    """The settings that all queue functions of an app share."""

    batch_size: int = 16
    new_batch_threshold: int = 8
    max_dequeue_count: int = 5
    max_polling_interval_s: float = 60.0
    visibility_timeout_s: int = 0
    message_encoding: MessageEncoding = "base64"

    @classmethod
    def from_host_json(cls, host_json: Mapping[str, object], *, cores: int, development: bool) -> "QueueSettings":
        """Read `extensions.queues` of a parsed host.json.

        Without `newBatchThreshold` it is (batchSize div 2) x cores (recorded listener, R12). In the
        Development environment a polling interval of exactly one minute, which is also the default, becomes
        2 s (R6). Raises InvalidQueueSettings, naming every value at fault.
        """
        written = _read_section(_find_section(host_json))
        threshold = written.newbatchthreshold
        longest_poll = written.maxpollinginterval
        if development and longest_poll == LONGEST_POLL:
            longest_poll = DEVELOPMENT_POLL
        return cls(
            batch_size=written.batchsize,
            new_batch_threshold=written.batchsize // 2 * cores if threshold is None else threshold,
            max_dequeue_count=written.maxdequeuecount,
            max_polling_interval_s=longest_poll.total_seconds(),
            visibility_timeout_s=int(written.visibilitytimeout.total_seconds()),
            message_encoding=written.messageencoding,
        )


@dataclass(frozen=True)
class QueueTimes:
    """The times no setting changes (recorded listener: R2, R3, R40, R51)."""

    hidden_s: int = 600
    renewal_s: float = 300.0
    first_poll_s: float = 0.1
    first_retry_s: float = 0.8
    tries: int = 6


def _timespan(value: object) -> object:
    if isinstance(value, timedelta):
        return value
    span = read_timespan(str(value))
    if span is None:
        raise ValueError("not a time span such as 00:00:02")
    return span


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


TimeSpan = Annotated[timedelta, BeforeValidator(_timespan)]


class _Section(BaseModel):
    """`extensions.queues`; names in lower case, since the host does not mind how they are written."""

    model_config = ConfigDict(extra="ignore")

    batchsize: int = Field(default=16, ge=1, le=32)
    newbatchthreshold: int | None = Field(default=None, ge=0)
    maxdequeuecount: int = Field(default=5, ge=1)
    maxpollinginterval: TimeSpan = Field(default=LONGEST_POLL, ge=timedelta(milliseconds=100))
    visibilitytimeout: TimeSpan = Field(default=timedelta(0), le=timedelta(days=7))
    messageencoding: Annotated[MessageEncoding, BeforeValidator(_lower)] = "base64"


def _find_section(host_json: Mapping[str, object]) -> dict[str, object]:
    found: object = host_json
    for name in ("extensions", "queues"):
        if not isinstance(found, Mapping):
            raise InvalidQueueSettings(f"host.json: '{name}' is looked for inside something that is no object")
        found = {str(key).lower(): value for key, value in found.items()}.get(name, {})
    if not isinstance(found, Mapping):
        raise InvalidQueueSettings("host.json: extensions.queues is no object")
    return dict(found)


def _read_section(section: dict[str, object]) -> _Section:
    written_as = {name.lower(): name for name in section}
    for name in sorted(written_as.keys() - _Section.model_fields.keys()):
        log.warning("host.json: extensions.queues.%s is not a setting; the host ignores it", written_as[name])
    try:
        return _Section.model_validate({name: section[written_as[name]] for name in written_as})
    except ValidationError as error:
        names = [written_as[str(fault["loc"][0])] for fault in error.errors()]
        complaints = [
            f"extensions.queues.{name} is {section[name]!r}: {fault['msg']}"
            for name, fault in zip(names, error.errors(), strict=True)
        ]
        raise InvalidQueueSettings("host.json: " + "; ".join(complaints)) from error
