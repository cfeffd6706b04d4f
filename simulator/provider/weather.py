"""The weather: how calls are treated, the quota and the times; and the script for the next few calls."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from simulator.provider.garble import VARIANTS
from simulator.provider.tasks import Task
from simulator.provider.verdicts import VERDICTS

Mode = Literal["normal", "slow", "outage", "error", "quota", "refuse", "garbled", "stall", "drop"]

ENVIRONMENT_PREFIX: Final = "PROVIDER_SIM_"
SLOW_FACTOR: Final = 5.0
# The tiny bucket of mode `quota`: one call every six seconds, two at once.
QUOTA_MODE_RPM: Final = 10
QUOTA_MODE_BURST: Final = 2


# Anything that can travel in a header.
Hint = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]


class BadWeather(Exception):
    """A setting that does not exist or has an impossible value; the message names it."""


class Treatment(BaseModel):
    """How calls are treated.

    normal   answered
    slow     answered after five times as long
    outage   503
    error    `status`
    quota    answered, from a tiny bucket
    refuse   429 with just the hints given; `NOW+5` in one becomes an HTTP date, without its zone
    garbled  answered wrongly, by `variant` or by each that fits in turn
    stall    never answered
    drop     connection cut before the answer or, as variant `halfway`, within it

    `body` replaces the body of an outage, error or refusal. `only` narrows it all to some tasks, `share` to a
    part of their calls.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = "normal"
    variant: str | None = None
    status: Annotated[int, Field(ge=400, le=599)] = 500
    body: str | None = None
    retry_after: Hint | tuple[Hint, ...] | None = None
    retry_after_ms: Hint | None = None
    only: tuple[Task, ...] | None = None
    share: Annotated[float, Field(gt=0, le=1)] = 1.0

    @model_validator(mode="after")
    def _variant_exists(self) -> "Treatment":
        known = {"garbled": (*VARIANTS, *VERDICTS), "drop": ("halfway",)}.get(self.mode, ())
        if self.variant is not None and self.variant not in known:
            raise ValueError(f"mode {self.mode} has no variant {self.variant!r}; it has: {', '.join(known) or 'none'}")
        return self

    def concerns(self, task: Task) -> bool:
        """Whether calls of this task are meant."""
        return self.only is None or task in self.only


class Turn(Treatment):
    """One entry of the script: the next `times` calls that it concerns are treated so."""

    times: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _one_call_has_no_bucket(self) -> "Turn":
        if self.mode == "quota":
            raise ValueError("mode quota is a bucket, which single calls do not have; use refuse")
        return self


def _from_json_text(value: object) -> object:
    return json.loads(value) if isinstance(value, str) else value


Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Weather(Treatment):
    """All that can be set: the treatment of calls, the quota and the times.

    `rpm` 0 = no quota at all; `burst` left out = `rpm`; `tpm` 0 = tokens are not limited. `latency_factor`
    multiplies all times, 0 = at once. `fixed_seconds`, one number or by task, replaces drawn times and their
    factor.
    """

    rpm: Annotated[int, Field(ge=0)] = 100
    burst: Annotated[int, Field(ge=1)] | None = None
    tpm: Annotated[int, Field(ge=0)] = 100_000
    quota: Literal["bucket", "window"] = "bucket"
    latency_factor: Seconds = 1.0
    fixed_seconds: Annotated[Seconds | dict[Task, Seconds] | None, BeforeValidator(_from_json_text)] = None

    def fixed_for(self, task: Task) -> float | None:
        """The fixed time of a task in seconds, if one is set."""
        if isinstance(self.fixed_seconds, dict):
            return self.fixed_seconds.get(task)
        return self.fixed_seconds

    def limits(self) -> tuple[object, ...]:
        """What the bucket depends on: while it stays the same, a change of weather does not refill it."""
        return (self.mode == "quota", self.rpm, self.burst, self.tpm, self.quota)


def read_weather(environment: Mapping[str, str]) -> Weather:
    """Weather from variables such as `PROVIDER_SIM_RPM=0`; raises BadWeather naming the one at fault."""
    variables = {name: ENVIRONMENT_PREFIX + name.upper() for name in Weather.model_fields}
    given: dict[str, object] = {
        name: environment[variable] for name, variable in variables.items() if environment.get(variable)
    }
    if "only" in given:
        given["only"] = environment[variables["only"]].split(",")
    try:
        return Weather.model_validate(given)
    except ValidationError as error:
        raise BadWeather(_explain(error, ENVIRONMENT_PREFIX)) from error


def change_weather(base: Weather, changes: Mapping[str, Any]) -> Weather:
    """`base` with the given fields replaced; raises BadWeather naming the wrong field."""
    return _validated(Weather, base.model_dump() | dict(changes))


def read_turn(entry: Any) -> Turn:
    """One script entry; raises BadWeather."""
    return _validated(Turn, entry)


_Model = TypeVar("_Model", bound=Treatment)


def _validated(model: type[_Model], value: Any) -> _Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise BadWeather(_explain(error)) from error


def _explain(error: ValidationError, prefix: str = "") -> str:
    problems = []
    for problem in error.errors(include_url=False):
        name = ".".join(str(part) for part in problem["loc"])
        named = f"{prefix}{name.upper()}" if prefix and name else name
        problems.append(f"{named}: {problem['msg']}" if named else problem["msg"])
    return "; ".join(problems)
