"""The loggers' names, what a line is about, and what of an exception it tells."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from shared import log
from shared.errors import BadAnswer

LINES = log.logger("test")


class Lines:
    """What the worker's own handler on the root logger writes."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        self.handler = logging.StreamHandler(self._stream)

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    def last(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self.text.splitlines()[-1])
        return line


@pytest.fixture
def lines() -> Iterator[Lines]:
    written, root = Lines(), logging.getLogger()
    before = [(handler, handler.formatter) for handler in root.handlers]
    root.addHandler(written.handler)
    level = LINES.level
    LINES.setLevel(logging.INFO)
    yield written
    LINES.setLevel(level)
    root.removeHandler(written.handler)
    for handler, formatter in before:
        handler.setFormatter(formatter)


def test_logger_then_below_the_apps_name() -> None:
    assert log.logger("relay").name == "larkfield.relay"


async def test_request_id_when_two_requests_run_at_once_then_each_sees_its_own() -> None:
    both_are_in = asyncio.Barrier(2)

    async def handle(request_id: str) -> str:
        log.request_id.set(request_id)
        await both_are_in.wait()
        return log.request_id.get()

    tasks = [asyncio.create_task(handle(request_id)) for request_id in ("a", "b")]
    assert await asyncio.gather(*tasks) == ["a", "b"]
    assert log.request_id.get() == "-"


def test_line_when_nobody_asked_for_json_then_as_a_person_reads_it(lines: Lines) -> None:
    with log.about(job_id=7, ticket_id="T-500001"):
        LINES.info("job %d: running (attempt %d)", 7, 1)
    assert lines.text == "job 7: running (attempt 1)\n"


def test_line_when_json_then_one_object_with_all_that_is_known(lines: Lines) -> None:
    log.write_json()
    with log.about(job_id=7, ticket_id="T-500001", attempt=2, request_id="req.1"):
        LINES.warning("it says\n%s", "“no”")
    assert lines.last() == {
        "message": "it says\n“no”",
        "level": "WARNING",
        "logger": "larkfield.test",
        "request_id": "req.1",
        "job_id": 7,
        "ticket_id": "T-500001",
        "attempt": 2,
    }
    assert len(lines.text.splitlines()) == 1


def test_line_when_about_a_job_in_passing_then_it_has_its_number(lines: Lines) -> None:
    log.write_json()
    LINES.info("job %d: queued, announced again (lost %d times)", 7, 1)
    told = lines.last()
    assert (told["job_id"], told["ticket_id"], told["attempt"], told["request_id"]) == (7, None, None, None)


def test_line_when_inside_a_span_then_it_names_the_trace(lines: Lines) -> None:
    log.write_json()
    with use_span(NonRecordingSpan(SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(1)))):
        LINES.info("hello")
    assert lines.last()["trace_id"] == "00000000000000000000000000000abc"


def test_line_of_somebody_else_when_json_then_as_it_was(lines: Lines) -> None:
    lines.handler.setFormatter(logging.Formatter("worker: %(message)s"))
    log.write_json()
    log.write_json()
    logging.getLogger("azure_functions_worker").warning("hello")
    assert lines.text == "worker: hello\n"


def test_exception_when_of_others_then_where_and_what_but_not_its_words(lines: Lines) -> None:
    log.write_json()
    try:
        try:
            int("a customer's words")
        except ValueError as exc:
            raise BadAnswer("our words") from exc
    except BadAnswer:
        LINES.exception("no good")
    told = lines.last()["exception"]
    assert "invalid literal" not in told
    assert told.index("ValueError") < told.index("This led to:") < told.index("BadAnswer: our words")
    assert "test_log.py" in told


@pytest.mark.filterwarnings("ignore:.*LoggingHandler.*:DeprecationWarning")  # it moves to a package of its own
def test_line_when_a_handler_of_opentelemetry_listens_then_its_fields_are_attributes() -> None:
    kept = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]  # it has no annotations
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    handler = LoggingHandler(logger_provider=provider)
    LINES.addHandler(handler)
    try:
        with log.about(job_id=7, ticket_id="T-500001", attempt=2):
            LINES.warning("hello")
        try:
            int("a customer's words")
        except ValueError:
            LINES.exception("no good")
    finally:
        LINES.removeHandler(handler)
    hello, no_good = (dict(item.log_record.attributes or {}) for item in kept.get_finished_logs())
    assert (hello["job_id"], hello["ticket_id"], hello["attempt"]) == (7, "T-500001", 2)
    assert no_good["exception.message"] == "ValueError"


async def test_function_when_it_raises_what_is_ours_then_as_it_is_without_what_led_to_it() -> None:
    @log.sealed
    async def function() -> None:
        try:
            int("a customer's words")
        except ValueError as exc:
            raise BadAnswer("our words") from exc

    with pytest.raises(BadAnswer) as raised:
        await function()
    assert "invalid literal" not in "".join(traceback.format_exception(raised.value))


async def test_function_when_it_raises_what_is_not_ours_then_another_exception_without_its_words() -> None:
    @log.sealed
    async def function(text: str) -> None:
        int(text)

    with pytest.raises(log.Unexpected, match="ValueError") as raised:
        await function("a customer's words")
    assert "invalid literal" not in "".join(traceback.format_exception(raised.value))
