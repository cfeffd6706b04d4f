"""Where signals go: to Application Insights when there is a connection string, otherwise nowhere.

The only room that knows the OpenTelemetry SDK, and it imports it only when it is needed: that takes as long as half of
the app. Nothing is registered globally, so that no library adds spans of its own: those would hold whole addresses.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.settings import Settings
from shared.signals import SILENT, Gauges, Signals

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.trace import TracerProvider

NAME = "larkfield"


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
    it themselves), or with the connection string's key where there is none."""
    connection_string = settings.applicationinsights_connection_string
    if not connection_string:
        return OFF
    from azure.monitor.opentelemetry.exporter import AzureMonitorMetricExporter, AzureMonitorTraceExporter
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # An instance comes and goes: what it cannot send, nobody would find on its disk.
    to = {"connection_string": connection_string, "disable_offline_storage": True}
    tracers = tracer_provider()
    tracers.add_span_processor(BatchSpanProcessor(AzureMonitorTraceExporter(tracer_provider=tracers, **to)))
    return listening(tracers, PeriodicExportingMetricReader(AzureMonitorMetricExporter(**to)))


def tracer_provider() -> TracerProvider:
    """One that nobody listens to yet."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    name, instance = os.environ.get("WEBSITE_SITE_NAME", NAME), os.environ.get("WEBSITE_INSTANCE_ID", "local")
    # Not as the parent says: the host hands its context on as not sampled, whatever it does with it itself.
    return TracerProvider(ALWAYS_ON, Resource.create({"service.name": name, "service.instance.id": instance}))


def listening(tracers: TracerProvider, metrics: MetricReader) -> Telemetry:
    """To whoever listens there."""
    from opentelemetry.sdk.metrics import MeterProvider

    meters = MeterProvider([metrics], tracers.resource)

    def flush() -> None:
        tracers.force_flush()
        meters.force_flush()

    def close() -> None:
        tracers.shutdown()
        meters.shutdown()

    meter = meters.get_meter(NAME)
    return Telemetry(Signals.to(tracers.get_tracer(NAME), meter), Gauges(meter), flush, close)
