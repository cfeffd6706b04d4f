"""From what a function leaves to what the host is sent, by the library's own converters (C3, D4, A8)."""

from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import Any

from azure.functions.meta import Datum

from simulator.host.wire import Head
from simulator.host.worker.converters import find_converter
from simulator.host.worker.functions import AppFunction
from simulator.host.worker.signature import GENERIC


class Output:
    """What a `func.Out` parameter gets."""

    def __init__(self) -> None:
        self._value: Any = None

    def set(self, value: Any) -> None:
        self._value = value

    def get(self) -> Any:
        return self._value


def pack_result(function: AppFunction, result: Any, outputs: Mapping[str, Output]) -> tuple[Head, bytes]:
    """The `result` frame of a run that did not raise.

    Raises RuntimeError for a result that nothing takes and TypeError for one that does not convert: the run failed.
    """
    signature = function.signature
    if result is not None and signature.return_kind is None:
        raise RuntimeError(f"function '{function.name}' without a $return binding returned a non-None value")
    head: Head = {"succeeded": True, "outputs": {}}
    for name, kind in signature.outputs.items():
        if (value := outputs[name].get()) is not None:
            head["outputs"][name] = _text(_encode(kind, value))
    if signature.return_kind == "http":
        return _pack_http(head, _encode("http", result))
    if signature.return_kind is not None and result is not None:
        head["outputs"]["$return"] = _text(_encode(signature.return_kind, result))
    return head, b""


def _encode(kind: str, value: Any) -> Datum:
    converter = find_converter("queue" if kind == GENERIC else kind)
    try:
        datum: Datum = converter.encode(value, expected_type=None)
    except NotImplementedError:
        raise TypeError(
            f"unable to encode outgoing TypedData: unsupported type '{kind}' for Python type '{type(value).__name__}'"
        ) from None
    return datum


def _text(datum: Datum) -> str:
    """Outputs are text: the host reads bytes as UTF-8, since no output of the app has another data type."""
    return datum.value.decode() if isinstance(datum.value, bytes) else str(datum.value)


def _pack_http(head: Head, datum: Datum) -> tuple[Head, bytes]:
    if datum.type != "http":
        return {**head, "text": datum.value}, b""
    response: dict[str, Any] = datum.value
    head["response"] = {
        "status": int(response["status_code"].value),
        "headers": {name: value.value for name, value in response["headers"].items()},
        "cookies": [line for cookie in response["cookies"] or () for line in _set_cookie_lines(cookie)],
    }
    return head, response["body"].value


def _set_cookie_lines(cookie: SimpleCookie) -> list[str]:
    return [morsel.OutputString() for morsel in cookie.values()]
