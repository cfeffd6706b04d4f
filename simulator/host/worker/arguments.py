"""From what the host sends to what a function is called with, by the library's own converters (D1, C6, A9, B5)."""

from typing import Any

from azure.functions.meta import Datum

from simulator.host.wire import Head
from simulator.host.worker.context import Context, TraceContext
from simulator.host.worker.converters import find_converter
from simulator.host.worker.functions import AppFunction
from simulator.host.worker.outputs import Output
from simulator.host.worker.signature import GENERIC


def make_arguments(function: AppFunction, head: Head, body: bytes) -> tuple[dict[str, Any], dict[str, Output]]:
    """The keyword arguments of the call, and those among them that collect outputs.

    Raises ValueError where the trigger's metadata do not convert, and TypeError where the data do not fit.
    """
    name, kind = function.signature.trigger
    datum = _trigger_datum(head, body)
    outputs = {output: Output() for output in function.signature.outputs}
    arguments: dict[str, Any] = {name: _decode(kind, datum, head), **outputs}
    if function.signature.wants_context:
        arguments["context"] = _context(function, head)
    return arguments, outputs


def _trigger_datum(head: Head, body: bytes) -> Datum:
    match head["trigger"]:
        case "httpTrigger":
            return Datum(_request(head["request"], body), "http")
        case "timerTrigger":
            return Datum(body.decode(), "json")
        case _ if head["is_binary"]:
            return Datum(body, "bytes")
        case _:
            return Datum(body.decode(), "string")


def _request(request: Head, body: bytes) -> dict[str, Any]:
    fields = {name: _texts(request[name]) for name in ("headers", "query", "params")}
    return {
        "method": Datum(request["method"], "string"),
        "url": Datum(request["url"], "string"),
        **fields,
        "body": Datum(body, "bytes"),
    }


def _texts(values: dict[str, str]) -> dict[str, Datum]:
    return {name: Datum(value, "string") for name, value in values.items()}


def _decode(kind: str, datum: Datum, head: Head) -> Any:
    if kind == GENERIC:
        if datum.type == "http":
            raise TypeError("an HTTP request does not convert to str or bytes")
        return datum.value
    converter = find_converter(kind)
    metadata = {name: Datum(value, form) for name, (form, value) in head.get("metadata", {}).items()}
    return converter.decode(datum, trigger_metadata=metadata)


def _context(function: AppFunction, head: Head) -> Context:
    parent, state = head["trace"]
    return Context(head["id"], function.name, function.directory, TraceContext(parent, state))
