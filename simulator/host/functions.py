"""The app's functions as the host sees them: what the worker found, chosen and checked by the host's own rules."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

from simulator.host.settings import Settings

RESERVED_ROUTES = ("admin", "runtime")
_NAME = re.compile(r"(?!host\Z)[a-z][a-z0-9_-]{0,127}", re.ASCII | re.IGNORECASE)


class InvalidFunctions(ValueError):
    """Some functions cannot be indexed; one line for each."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("\n".join(f"The '{name}' function is in error: {error}" for name, error in errors.items()))


class _Binding(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel)

    name: str


class HttpTrigger(_Binding):
    """`methods` None is every method; `route` is without the prefix."""

    type: Literal["httpTrigger"]
    route: str
    methods: frozenset[str] | None = None
    auth_level: Literal["ANONYMOUS", "FUNCTION", "ADMIN"] = "FUNCTION"

    def overlaps(self, other: "HttpTrigger") -> bool:
        """Same route text, and a method that both take (C1)."""
        if self.route.strip("/").lower() != other.route.strip("/").lower():
            return False
        return not self.methods or not other.methods or not self.methods.isdisjoint(other.methods)


class TimerTrigger(_Binding):
    type: Literal["timerTrigger"]
    schedule: str
    run_on_startup: bool = False
    use_monitor: bool = True


class QueueTrigger(_Binding):
    type: Literal["queueTrigger"]
    queue_name: str
    connection: str | None = None
    data_type: str = ""

    @property
    def is_binary(self) -> bool:
        return self.data_type == "BINARY"


class QueueOutput(_Binding):
    type: Literal["queue"]
    queue_name: str
    connection: str | None = None


class HttpOutput(_Binding):
    type: Literal["http"]


Trigger = HttpTrigger | TimerTrigger | QueueTrigger
_BINDINGS: TypeAdapter[list[Any]] = TypeAdapter(
    list[Annotated[Trigger | QueueOutput | HttpOutput, Field(discriminator="type")]]
)


@dataclass(frozen=True)
class Function:
    """One function of the app; `bindings` are as the worker described them."""

    name: str
    trigger: Trigger
    outputs: tuple[QueueOutput, ...]
    is_disabled: bool
    bindings: list[dict[str, Any]]


def read_functions(
    descriptions: Iterable[dict[str, Any]], settings: Settings, wanted: frozenset[str] | None
) -> list[Function]:
    """The functions in order of name, only those `wanted` (lower case; None is all). Raises InvalidFunctions.

    A function that the genuine host would report and leave out ends the stand-in: it is stricter, never looser.
    """
    found = sorted(descriptions, key=lambda description: str(description["name"]).lower())
    if wanted is not None:
        found = [description for description in found if description["name"].lower() in wanted]
        if missing := wanted - {description["name"].lower() for description in found}:
            raise InvalidFunctions(dict.fromkeys(sorted(missing), "the app has no such function"))
    functions: list[Function] = []
    errors: dict[str, str] = {}
    for description in found:
        function = _read_function(description, settings)
        try:
            _check(function, functions, has_retry_policy=description["has_retry_policy"])
            functions.append(function)
        except ValueError as error:
            errors[function.name] = str(error)
    if errors:
        raise InvalidFunctions(errors)
    return functions


def _read_function(description: dict[str, Any], settings: Settings) -> Function:
    name = description["name"]
    bindings = _BINDINGS.validate_python(description["bindings"])
    return Function(
        name=name,
        trigger=next(binding for binding in bindings if isinstance(binding, Trigger)),
        outputs=tuple(binding for binding in bindings if isinstance(binding, QueueOutput)),
        is_disabled=settings.is_on(f"AzureWebJobs.{name}.Disabled"),
        bindings=description["bindings"],
    )


def _check(function: Function, accepted: Iterable[Function], *, has_retry_policy: bool) -> None:
    if not _NAME.fullmatch(function.name):
        raise ValueError("a name is a letter, then up to 127 letters, digits, '_' or '-', and not 'host'")
    if has_retry_policy:
        raise ValueError("retry policies are not for queue functions, and the stand-in has none for others")
    if not isinstance(function.trigger, HttpTrigger):
        return
    if function.trigger.route.strip("/").lower().startswith(RESERVED_ROUTES):
        raise ValueError("The specified route conflicts with one or more built in routes.")
    for other in accepted:
        if isinstance(other.trigger, HttpTrigger) and function.trigger.overlaps(other.trigger):
            raise ValueError(f"The route specified conflicts with the route defined by function '{other.name}'.")
