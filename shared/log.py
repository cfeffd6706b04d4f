"""The app's loggers: what a line is about goes with it, and what others wrote stays out of it.

Lines are plain text for a person at a terminal; where they are read by machines, `write_json` turns them into JSON.
"""

from __future__ import annotations

import contextvars
import functools
import json
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import ParamSpec

from opentelemetry.trace import format_trace_id, get_current_span

P = ParamSpec("P")

#: What every JSON line has, null when it is about none.
FIELDS = ("request_id", "job_id", "ticket_id", "attempt")

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="-")
_facts: contextvars.ContextVar[Mapping[str, str | int]] = contextvars.ContextVar("facts", default=MappingProxyType({}))

# Their words speak of code; those of other exceptions may quote a row, a header or a customer.
_HARMLESS = (TypeError, AttributeError, NameError, ImportError)


def logger(name: str) -> logging.Logger:
    """The logger of one room, below `larkfield`; handlers and levels belong to the Functions worker.

    A line that begins `job %d` is about that job, and carries its number as a field.
    """
    made = logging.getLogger(f"larkfield.{name}")
    made.addFilter(_complete)
    return made


@contextmanager
def about(**facts: str | int | None) -> Iterator[None]:
    """Every line and every span from inside tells these facts; None = not known."""
    token = _facts.set({**_facts.get(), **{name: fact for name, fact in facts.items() if fact is not None}})
    try:
        yield
    finally:
        _facts.reset(token)


def facts() -> Mapping[str, str | int]:
    """What is known of the work at hand."""
    known = request_id.get()
    return _facts.get() if known == "-" else {"request_id": known, **_facts.get()}


def quieten_libraries() -> None:
    """Keep out of the log what libraries say of every call, addresses with their queries among it."""
    for name in ("azure", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)


def write_json() -> None:
    """Have whatever handlers the worker has put on the root logger write our lines as JSON, one object a line."""
    for handler in logging.getLogger().handlers:
        if not isinstance(handler.formatter, JsonLines):
            handler.setFormatter(JsonLines(handler.formatter))


class JsonLines(logging.Formatter):
    """Lines of the app as JSON; those of others as `others` would have them."""

    def __init__(self, others: logging.Formatter | None = None) -> None:
        super().__init__()
        self._others = others or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        if not record.name.startswith("larkfield."):
            return self._others.format(record)
        line: dict[str, object] = {
            "message": record.getMessage(),
            "level": record.levelname,
            "logger": record.name,
            **{name: getattr(record, name, None) for name in FIELDS},
        }
        if (context := get_current_span().get_span_context()).is_valid:
            line["trace_id"] = format_trace_id(context.trace_id)
        if record.exc_text:
            line["exception"] = record.exc_text
        return json.dumps(line, ensure_ascii=False)


class Unexpected(Exception):
    """Stands for an exception whose words are not repeated; its own are a traceback without them."""


def sealed(function: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
    """Wrap a trigger: the host writes down every word of what a function raises, so only words of ours leave it."""

    @functools.wraps(function)
    async def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            await function(*args, **kwargs)
        except Exception as exc:
            if _is_ours(exc):
                raise exc from None
            raise Unexpected(told(exc)) from None

    return wrapped


def told(error: BaseException) -> str:
    """A traceback as Python prints it, with the words only of exceptions that quote nobody."""
    return "\nThis led to:\n".join(_told(each) for each in reversed(list(_chain(error))))


def _told(error: BaseException) -> str:
    name = type(error).__qualname__
    if _is_ours(error) or isinstance(error, _HARMLESS):
        name += f": {error}"
    elif code := getattr(error, "sqlstate", None):
        name += f" (SQLSTATE {code})"
    return f"Traceback (most recent call last):\n{''.join(traceback.format_tb(error.__traceback__))}{name}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and what led to it, newest first."""
    seen: set[int] = set()
    while id(error) not in seen:
        yield error
        seen.add(id(error))
        before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if before is None:
            return
        error = before


def _is_ours(error: BaseException) -> bool:
    return type(error).__module__.startswith("shared.")


def _complete(record: logging.LogRecord) -> bool:
    """Give the record what is known of the work at hand, and take from its exception what others wrote."""
    if record.msg.startswith("job %d") and isinstance(record.args, tuple):
        record.job_id = record.args[0]
    for name, fact in facts().items():
        if not hasattr(record, name):
            setattr(record, name, fact)
    if record.exc_info and record.exc_info[1] is not None and not record.exc_text:
        error = record.exc_info[1]
        record.exc_text = told(error)
        stand_in = Unexpected(type(error).__qualname__)
        record.exc_info = (Unexpected, stand_in, error.__traceback__)
    return True
