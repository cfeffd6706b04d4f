"""What a listener hears of the app: spans and measurements, kept in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id, format_trace_id

from shared.telemetry import listening, tracer_provider

#: What the templates set, too: the exporter says nothing of itself to anybody.
QUIET = {
    f"APPLICATIONINSIGHTS_{part}": "true"
    for part in (
        *("CONTROLPLANE_DISABLED", "OPENTELEMETRY_RESOURCE_METRIC_DISABLED"),
        *("SDKSTATS_DISABLED", "STATSBEAT_DISABLED_ALL"),
    )
}

Sample = tuple[str, dict[str, Any], float]


class Ears:
    """`telemetry` is what the app is built with. Nothing of it is global, and no thread runs."""

    def __init__(self) -> None:
        self._memory = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        tracers = tracer_provider()
        tracers.add_span_processor(SimpleSpanProcessor(self._memory))
        self.telemetry = listening(tracers, self._reader)

    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, in that order."""
        return list(self._memory.get_finished_spans())

    def span(self, name: str) -> ReadableSpan:
        """The only span of that name."""
        (found,) = [span for span in self.spans() if span.name == name]
        return found

    def samples(self) -> list[Sample]:
        """Name, dimensions and value (of a histogram the sum) of all that was measured since the last time."""
        data = self._reader.get_metrics_data()
        return sorted(_samples(data), key=str) if isinstance(data, MetricsData) else []


def _samples(data: MetricsData) -> Iterator[Sample]:
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    value: Any = getattr(point, "value", None)
                    yield metric.name, dict(point.attributes or {}), getattr(point, "sum", value)


def trace_of(span: ReadableSpan) -> str:
    return format_trace_id(span.context.trace_id)


def name_of(span: ReadableSpan) -> str:
    """Its id, as a traceparent has it."""
    return format_span_id(span.context.span_id)


def parent_of(span: ReadableSpan) -> str | None:
    return format_span_id(span.parent.span_id) if span.parent else None
