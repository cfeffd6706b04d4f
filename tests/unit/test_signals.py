"""Spans and measurements, and that nothing happens where nobody listens."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import INVALID_SPAN, SpanKind, StatusCode

from shared import log
from shared import telemetry as telemetry_room
from shared.errors import NotFound, QueueUnavailable, TimedOut
from shared.settings import Settings
from shared.signals import SILENT, Signals, family, remote, traceparent_of
from shared.telemetry import INSTANCE, OFF, PATIENCE, listening, telemetry, tracer_provider
from tests.ears import QUIET, Ears, trace_of
from tests.ingestion import Ingestion

ROOT = Path(__file__).parents[2]
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
NEEDED = {"DATABASE_URL": "postgresql://x", "JobsQueue": "x", "PROVIDER_URL": "http://x"}
AN_ADDRESS = "InstrumentationKey=00000000-0000-0000-0000-000000000001;IngestionEndpoint=http://127.0.0.1:9/"
LOADED = "import sys, function_app; print('opentelemetry.sdk' in sys.modules)"


@pytest.fixture
def quiet_exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)


def test_span_when_nobody_listens_then_the_callers_trace_goes_through() -> None:
    with SILENT.span("x", parent=remote(CALLER)) as span:
        assert traceparent_of(span) == CALLER
        assert not span.is_recording()


@pytest.mark.parametrize("given", [None, "", "nonsense", "00-" + 32 * "0" + "-" + 16 * "0" + "-01"])
def test_span_when_there_is_no_trace_then_none_is_told(given: str | None) -> None:
    with SILENT.span("x", parent=remote(given)) as span:
        assert traceparent_of(span) is None
    assert traceparent_of(INVALID_SPAN) is None


def test_span_when_its_parent_is_no_trace_then_it_begins_one_even_inside_another(ears: Ears) -> None:
    signals = ears.telemetry.signals
    with signals.span("outer"), signals.span("inner", parent=remote(None)):
        pass
    assert ears.span("inner").parent is None
    assert trace_of(ears.span("inner")) != trace_of(ears.span("outer"))


@pytest.mark.parametrize(
    ("error", "code", "is_failure"),
    [
        (TimedOut("words"), "provider_timeout", True),
        (NotFound("words"), "not_found", False),
        (QueueUnavailable("words"), "internal_error", True),
        (ValueError("words"), "ValueError", True),
    ],
)
def test_span_when_something_is_raised_then_its_code_and_no_words(
    ears: Ears, error: Exception, code: str, is_failure: bool
) -> None:
    with pytest.raises(type(error)), ears.telemetry.signals.span("x"):
        raise error
    span = ears.span("x")
    assert (span.attributes or {})["error_code"] == code
    assert (span.status.status_code is StatusCode.ERROR) == is_failure
    assert "words" not in span.to_json()


def test_span_then_it_tells_what_the_lines_tell(ears: Ears) -> None:
    with log.about(job_id=7, ticket_id=None), ears.telemetry.signals.span("x", attributes={"y": 1}):
        pass
    assert ears.span("x").attributes == {"job_id": 7, "y": 1}


@pytest.mark.parametrize(
    ("step", "name"), [("batch-12", "batch"), ("merge-1-2", "merge"), ("embed", "embed"), ("7", "7")]
)
def test_steps_when_they_differ_in_their_numbers_only_then_one_name(step: str, name: str) -> None:
    assert family(step) == name


def test_telemetry_when_there_is_no_connection_string_then_off() -> None:
    assert telemetry(Settings.read(NEEDED)) is OFF


@pytest.mark.parametrize(("address", "is_loaded"), [("", False), (AN_ADDRESS, True)])
def test_app_when_imported_then_the_sdk_with_it_only_where_it_will_be_needed(address: str, is_loaded: bool) -> None:
    environment = {**os.environ, "APPLICATIONINSIGHTS_CONNECTION_STRING": address}
    found = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(is_loaded)


@pytest.mark.parametrize("nonsense", ["nonsense", "InstrumentationKey=x", "IngestionEndpoint=http://127.0.0.1:9/"])
def test_telemetry_when_the_connection_string_is_nonsense_then_off_and_a_line_says_why(
    nonsense: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert telemetry(Settings.read(NEEDED | {"APPLICATIONINSIGHTS_CONNECTION_STRING": nonsense})) is OFF
    assert "APPLICATIONINSIGHTS_CONNECTION_STRING" in caplog.text


@pytest.mark.parametrize(
    ("environment", "role", "instance"),
    [
        ({}, "larkfield", platform.node()),
        ({"WEBSITE_SITE_NAME": "func-1", "WEBSITE_POD_NAME": "0--a1", "WEBSITE_INSTANCE_ID": ""}, "func-1", "0--a1"),
        ({"WEBSITE_SITE_NAME": "func-1", "WEBSITE_INSTANCE_ID": "b2"}, "func-1", "b2"),
    ],
)
def test_signals_then_they_say_which_app_and_which_instance_of_it(
    environment: dict[str, str], role: str, instance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WEBSITE_SITE_NAME", *INSTANCE):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    told = tracer_provider().resource.attributes
    assert (told["service.name"], told["service.instance.id"]) == (role, instance)


def test_flush_when_another_hangs_then_it_does_not_hang_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry_room, "TURN_S", 0.05)
    hangs, end = threading.Event(), threading.Event()

    class Stuck(SpanProcessor):
        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            hangs.set()
            return end.wait(10)

    tracers = tracer_provider()
    tracers.add_span_processor(Stuck())
    made = listening(tracers, InMemoryMetricReader())
    first = threading.Thread(target=made.flush)
    first.start()
    assert hangs.wait(10)
    made.flush()
    assert first.is_alive()
    end.set()
    first.join()
    made.close()


def test_span_when_sent_then_all_that_it_tells_arrives(quiet_exporter: None) -> None:
    known: dict[str, str | int] = {"host": "provider", "step": "classify", "gen_ai.request.model": "m"}
    with Ingestion() as insights:
        address = {"APPLICATIONINSIGHTS_CONNECTION_STRING": insights.connection_string}
        made = telemetry(Settings.read(NEEDED | address))
        with pytest.raises(TimedOut), made.signals.span("chat m", SpanKind.CLIENT, attributes=known) as span:
            span.set_attribute("http_status", 504)
            raise TimedOut("words")
        made.close()
    [sent] = [item["data"]["baseData"] for item in insights.items]
    assert sent["properties"] == {**known, "http_status": "504", "error_code": "provider_timeout"}
    assert (sent["name"], sent["success"]) == ("chat m", False)


def test_exporters_when_nothing_is_ever_answered_then_they_give_up_in_time(
    quiet_exporter: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in PATIENCE:
        monkeypatch.setitem(PATIENCE, name, 0.2)
    with socket.create_server(("127.0.0.1", 0)) as hole:
        address = AN_ADDRESS.replace(":9/", f":{hole.getsockname()[1]}/")
        made = telemetry(Settings.read(NEEDED | {"APPLICATIONINSIGHTS_CONNECTION_STRING": address}))
        with made.signals.span("x"):
            pass
        began = time.monotonic()
        made.flush()
        made.close()
        assert time.monotonic() - began < 10


def test_telemetry_when_there_is_a_connection_string_then_spans_are_made_and_nothing_is_global(
    quiet_exporter: None,
) -> None:
    before = set(threading.enumerate())
    made = telemetry(Settings.read(NEEDED | {"APPLICATIONINSIGHTS_CONNECTION_STRING": AN_ADDRESS}))
    assert isinstance(made.signals, Signals)
    with made.signals.span("x", parent=remote(CALLER.removesuffix("1") + "0")) as span:
        assert span.is_recording()
    assert made.gauges is not None
    made.close()
    assert set(threading.enumerate()) <= before
