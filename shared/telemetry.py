"""Where signals go: to Application Insights when there is a connection string, otherwise nowhere.

The only room that knows the OpenTelemetry SDK, and it imports it only when it is needed: that takes as long as half of
the app. Nothing is registered globally, so that no library adds spans of its own: those would hold whole addresses.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import platform
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared import log
from shared.settings import Settings
from shared.signals import SILENT, Gauges, Signals

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.trace import TracerProvider

NAME = "larkfield"
PATIENCE = {"timeout": 4.0, "read_timeout": 4.0}  # seconds; left to themselves the exporters wait five minutes
TURN_S = 1.0
INSTANCE = (
    "WEBSITE_INSTANCE_ID",
    "WEBSITE_POD_NAME",
    "CONTAINER_NAME",
)  # Flex Consumption has no instance id, but pods

_log = log.logger("telemetry")


@dataclass(frozen=True)
class Telemetry:
    """`gauges` is None when nobody listens, so that nobody measures for nothing. `flush` and `close` block."""

    signals: Signals
    gauges: Gauges | None
    flush: Callable[[], None]
    close: Callable[[], None]

    async def send(self, *, within_s: float) -> None:
        """Send now what would go in the next minute; after `within_s` seconds it goes on without being waited for."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(self.flush), within_s)


def preload() -> None:
    """Import now what the first request would otherwise wait for, if it will be needed."""
    if os.environ.get("APPLICATIONINSIGHTS_CONNECTION_STRING"):
        importlib.import_module("azure.monitor.opentelemetry.exporter")


OFF = Telemetry(SILENT, None, flush=lambda: None, close=lambda: None)


def telemetry(settings: Settings) -> Telemetry:
    """To Application Insights, as the identity that APPLICATIONINSIGHTS_AUTHENTICATION_STRING names (the exporters read
    it themselves), or with the connection string's key where there is none. A connection string that nobody can read
    is told in the log, and costs the signals only."""
    connection_string = settings.applicationinsights_connection_string
    if not connection_string:
        return OFF
    from azure.monitor.opentelemetry.exporter import AzureMonitorMetricExporter, AzureMonitorTraceExporter
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # An instance comes and goes: what it cannot send, nobody would find on its disk.
    to = {"connection_string": connection_string, "disable_offline_storage": True, **PATIENCE}
    tracers = tracer_provider()
    try:
        spans, metrics = AzureMonitorTraceExporter(tracer_provider=tracers, **to), AzureMonitorMetricExporter(**to)
    except ValueError as exc:
        _log.error("no spans and metrics, for APPLICATIONINSIGHTS_CONNECTION_STRING cannot be read: %s", exc)
        return OFF
    tracers.add_span_processor(BatchSpanProcessor(spans))
    return listening(tracers, PeriodicExportingMetricReader(metrics))


def tracer_provider() -> TracerProvider:
    """One that nobody listens to yet."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    named = (os.environ.get(name) for name in INSTANCE)
    who = {
        "service.name": os.environ.get("WEBSITE_SITE_NAME", NAME),
        "service.instance.id": next(filter(None, named), platform.node()),
    }
    # Not as the parent says: the host hands its context on as not sampled, whatever it does with it itself.
    return TracerProvider(ALWAYS_ON, Resource.create(who))


def listening(tracers: TracerProvider, metrics: MetricReader) -> Telemetry:
    """To whoever listens there."""
    from opentelemetry.sdk.metrics import MeterProvider

    meters = MeterProvider([metrics], tracers.resource)
    turn = threading.Lock()

    def flush() -> None:
        # Where sending hangs, one thread hangs with it, and not another one each minute until the pool has none left.
        if not turn.acquire(timeout=TURN_S):
            return
        try:
            tracers.force_flush()
            meters.force_flush()
        finally:
            turn.release()

    def close() -> None:
        tracers.shutdown()
        meters.shutdown()

    meter = meters.get_meter(NAME)
    return Telemetry(Signals.to(tracers.get_tracer(NAME), meter), Gauges(meter), flush, close)
