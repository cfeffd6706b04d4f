"""What the app tells of itself while it works: spans, and what it measures.

Made of the OpenTelemetry API alone. Where nobody listens, a span costs ten microseconds. Attributes have names of our
own where the conventions have one for HTTP (error.type, server.address, http.response.status_code): the exporter drops
those from a span that is not an HTTP call with a whole address, and none of ours is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Meter, NoOpMeter, Observation
from opentelemetry.trace import (
    Link,
    NoOpTracer,
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
    use_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from shared import log
from shared.errors import AppError, ProviderError

#: The values of now that alerts and workbook read, with their units; infra/modules names the same.
GAUGES = {
    "larkfield.oldest_queued_seconds": "s",
    "larkfield.queued": "{job}",
    "larkfield.running": "{job}",
    "larkfield.outbox_oldest_seconds": "s",
    "larkfield.dead_letters": "{job}",
    "larkfield.lane_calls_available": "{call}",
    "larkfield.lane_paused": "1",
    "larkfield.breaker_open": "1",
}

_TRACEPARENT = TraceContextTextMapPropagator()
_NUMBERS_AT_END = re.compile(r"(?:[\W_]*\d+)+$")


@dataclass(frozen=True)
class Signals:
    """Where spans and measurements of the work go."""

    tracer: Tracer
    tokens: Counter
    step_seconds: Histogram

    @classmethod
    def to(cls, tracer: Tracer, meter: Meter) -> Signals:
        return cls(
            tracer,
            meter.create_counter("larkfield.tokens", "{token}", "Tokens that chat calls took"),
            meter.create_histogram("larkfield.step_seconds", "s", "How long finished steps took"),
        )

    @contextmanager
    def span(
        self,
        name: str,
        role: SpanKind = SpanKind.INTERNAL,
        *,
        parent: Context | None = None,
        beside: Context | None = None,
        attributes: Mapping[str, str | int] | None = None,
    ) -> Iterator[Span]:
        """A span around what happens inside, with all that is known of the work at hand; below the current one unless
        `parent` says otherwise, and linked to the one that it happens `beside`.

        What is raised leaves its code or its class there, never its words: they may quote anybody.
        """
        known = {**log.facts(), **(attributes or {})}
        links = [Link(get_current_span(beside).get_span_context())] if beside else []
        span = self.tracer.start_span(name, context=parent, kind=role, attributes=known, links=links)
        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield span
            except Exception as exc:
                note_error(span, exc)
                raise


#: Nobody listens.
SILENT = Signals.to(NoOpTracer(), NoOpMeter("larkfield"))


class Gauges:
    """Values of now. Each is handed over once: what nobody measures any more falls silent instead of going stale."""

    def __init__(self, meter: Meter) -> None:
        self._values: dict[str, dict[frozenset[tuple[str, str]], float]] = {name: {} for name in GAUGES}
        for name, unit in GAUGES.items():
            meter.create_observable_gauge(name, [self._handing_over(name)], unit)

    def set(self, name: str, value: float, **dimensions: str) -> None:
        self._values[f"larkfield.{name}"][frozenset(dimensions.items())] = value

    def _handing_over(self, name: str) -> Callable[[CallbackOptions], list[Observation]]:
        def hand_over(_: CallbackOptions) -> list[Observation]:
            values, self._values[name] = self._values[name], {}
            return [Observation(value, dict(dimensions)) for dimensions, value in values.items()]

        return hand_over


def remote(traceparent: str | None) -> Context:
    """The span that a W3C traceparent names, as a parent; no parent for a text that is none."""
    return _TRACEPARENT.extract({"traceparent": traceparent} if traceparent else {}, Context())


def traceparent_of(span: Span) -> str | None:
    """The span as a W3C traceparent; None for one that belongs to no trace."""
    carrier: dict[str, str] = {}
    _TRACEPARENT.inject(carrier, set_span_in_context(span))
    return carrier.get("traceparent")


def note_error(span: Span, error: Exception) -> None:
    """A caller's own fault is no failure of the span."""
    span.set_attribute("error_code", _code(error))
    if not (isinstance(error, AppError) and error.status < 500):
        span.set_status(StatusCode.ERROR)


def note_end(span: Span, state: str, code: str | None) -> None:
    """How a run has left its job; one that nothing but a person can help is a failure of the span."""
    span.set_attributes({"outcome": state, **({"error.type": code} if code else {})})
    if state in ("failed", "dead_letter"):
        span.set_status(StatusCode.ERROR)


def family(step: str) -> str:
    """What steps that differ in their numbers only have in common: batch-7 → batch."""
    return _NUMBERS_AT_END.sub("", step) or step


def _code(error: Exception) -> str:
    known: Any = error.code if isinstance(error, AppError | ProviderError) else None
    return known or type(error).__qualname__
