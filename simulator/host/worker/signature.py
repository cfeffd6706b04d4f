"""Whether a function's parameters and annotations fit its bindings: what the worker checks when it indexes (D2)."""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from azure.functions import Out

from simulator.host.worker.converters import find_converter

RETURN = "$return"
GENERIC = "generic"  # a `str` or `bytes` parameter gets the text or bytes themselves
SUPPORTED = frozenset({"httpTrigger", "http", "timerTrigger", "queueTrigger", "queue"})

Bindings = Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Signature:
    """How a function is called: its trigger and outputs as `(parameter, kind of converter)`."""

    trigger: tuple[str, str]
    outputs: dict[str, str]
    wants_context: bool
    return_kind: str | None


def check_signature(call: Callable[..., Any], bindings: list[dict[str, Any]]) -> Signature:
    """Raises ValueError, in a sentence, where the genuine worker refuses to load the function."""
    bound = {binding["name"]: binding for binding in bindings if binding["name"] != RETURN}
    returned = next((binding for binding in bindings if binding["name"] == RETURN), None)
    for binding in bindings:
        if binding["type"] not in SUPPORTED:
            raise ValueError(f"the stand-in has no binding of type '{binding['type']}'")
    hints = typing.get_type_hints(call)
    parameters = set(inspect.signature(call).parameters)
    wants_context = "context" in parameters and "context" not in bound
    if wants_context:
        parameters.remove("context")
        _check_context(hints)
    _check_names(parameters, set(bound))
    kinds = {name: _parameter_kind(name, binding, hints) for name, binding in bound.items()}
    trigger = next(name for name, binding in bound.items() if binding["type"].endswith("Trigger"))
    if returned is not None and "return" in hints:
        _check_return(returned["type"], hints["return"])
    return Signature(
        trigger=(trigger, kinds.pop(trigger)),
        outputs=kinds,
        wants_context=wants_context,
        return_kind=returned["type"] if returned else None,
    )


def _check_context(hints: Mapping[str, Any]) -> None:
    annotation = hints.get("context")
    if annotation is not None and getattr(annotation, "__name__", None) != "Context":
        raise ValueError(f"the 'context' parameter must be a func.Context, not {annotation!r}")


def _check_names(parameters: set[str], bound: set[str]) -> None:
    if unbound := parameters - bound:
        raise ValueError(f"parameters that no decorator binds: {', '.join(sorted(unbound))}")
    if missing := bound - parameters:
        raise ValueError(f"bindings that are no parameters of the function: {', '.join(sorted(missing))}")


def _parameter_kind(name: str, binding: dict[str, Any], hints: Mapping[str, Any]) -> str:
    """The converter for a parameter, after the check that its annotation fits."""
    kind, is_output = str(binding["type"]), binding["direction"] == "OUT"
    if name not in hints:
        return kind
    annotation = hints[name]
    is_out = annotation is Out or typing.get_origin(annotation) is Out
    if is_out != is_output:
        raise ValueError(f"'{name}' must {'' if is_output else 'not '}be annotated as func.Out")
    if is_out:
        annotation = (*typing.get_args(annotation), annotation)[0]
    if not isinstance(annotation, type) and typing.get_origin(annotation) is None:
        raise ValueError(f"'{name}' has an annotation that is no type: {annotation!r}")
    if annotation in (str, bytes):
        return GENERIC
    converter = find_converter(kind)
    check = converter.check_output_type_annotation if is_output else converter.check_input_type_annotation
    if not check(annotation):
        raise ValueError(f"'{name}' is bound to '{kind}', which its annotation {annotation!r} does not fit")
    return kind


def _check_return(kind: str, annotation: Any) -> None:
    converter = find_converter(kind)
    if not isinstance(annotation, type) or not converter.check_output_type_annotation(annotation):
        raise ValueError(f"the return annotation {annotation!r} does not fit the binding '{kind}'")
