"""What the worker checks when it indexes a function (functions-host D2)."""

from collections.abc import Callable
from typing import Any, List  # noqa: UP035 # see `lists`

import azure.functions as func
import pytest

from simulator.host.worker.signature import check_signature

TIMER = {"type": "timerTrigger", "name": "timer", "direction": "IN"}
MESSAGE = {"type": "queueTrigger", "name": "msg", "direction": "IN"}
REQUEST = {"type": "httpTrigger", "name": "req", "direction": "IN"}
RESPONSE = {"type": "http", "name": "$return", "direction": "OUT"}
OUT = {"type": "queue", "name": "out", "direction": "OUT"}


async def timed(timer: func.TimerRequest, context: func.Context) -> None: ...
def bare(timer): ...  # type: ignore[no-untyped-def] # an app need not annotate anything
def texts(msg: str, out: func.Out[str]) -> None: ...
def lists(msg: bytes, out: func.Out[List[str]]) -> None: ...  # noqa: UP006 # the library knows no list[str]
def answers(req: func.HttpRequest) -> func.HttpResponse: ...  # type: ignore[empty-body] # only its signature counts
def says(req: func.HttpRequest) -> str: ...  # type: ignore[empty-body]
def unbound(timer: func.TimerRequest, other: int) -> None: ...
def nothing() -> None: ...
def wrong(timer: func.HttpRequest) -> None: ...
def wrong_context(timer: func.TimerRequest, context: int) -> None: ...
def not_out(msg: func.QueueMessage, out: str) -> None: ...
def out_for_in(msg: func.Out[str]) -> None: ...
def no_type(timer: "3") -> None: ...  # type: ignore[valid-type] # the mistake that the test is about
def wrong_return(req: func.HttpRequest) -> dict[str, int]: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("call", "bindings", "trigger", "outputs"),
    [
        (timed, [TIMER], ("timer", "timerTrigger"), {}),
        (bare, [TIMER], ("timer", "timerTrigger"), {}),
        (texts, [MESSAGE, OUT], ("msg", "generic"), {"out": "generic"}),
        (lists, [MESSAGE, OUT], ("msg", "generic"), {"out": "queue"}),
        (answers, [REQUEST, RESPONSE], ("req", "httpTrigger"), {}),
        (says, [REQUEST, RESPONSE], ("req", "httpTrigger"), {}),
    ],
)
def test_signature_when_it_fits_then_its_converters(
    call: Callable[..., Any], bindings: list[dict[str, Any]], trigger: tuple[str, str], outputs: dict[str, str]
) -> None:
    signature = check_signature(call, bindings)
    assert signature.trigger == trigger
    assert signature.outputs == outputs
    assert signature.wants_context is (call is timed)
    assert signature.return_kind == ("http" if RESPONSE in bindings else None)


@pytest.mark.parametrize(
    ("call", "bindings", "complaint"),
    [
        (unbound, [TIMER], "parameters that no decorator binds: other"),
        (nothing, [TIMER], "bindings that are no parameters of the function: timer"),
        (wrong, [TIMER], "does not fit"),
        (wrong_context, [TIMER], "'context' parameter must be a func.Context"),
        (no_type, [TIMER], "annotation that is no type|Forward references"),
        (not_out, [MESSAGE, OUT], "'out' must be annotated as func.Out"),
        (out_for_in, [MESSAGE], "'msg' must not be annotated as func.Out"),
        (wrong_return, [REQUEST, RESPONSE], "return annotation"),
        (bare, [{**TIMER, "type": "blobTrigger"}], "no binding of type 'blobTrigger'"),
    ],
)
def test_signature_when_it_does_not_fit_then_a_sentence(
    call: Callable[..., Any], bindings: list[dict[str, Any]], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        check_signature(call, bindings)
