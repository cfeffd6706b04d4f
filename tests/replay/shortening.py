"""Scenarios that last minutes, made to last seconds: all times in them are divided, only the first polls are not."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.replay.events import Event
from tests.replay.faults import Fault
from tests.replay.scenario import Input, Scenario

SHORTEST_CAP_S = 0.5


@dataclass(frozen=True)
class Shortening:
    """`divisor` for what the scenario does and for hiding, renewal and the longest poll; another for SDK retries."""

    divisor: float
    retry_divisor: float = 1.0


SHORTENINGS: Mapping[str, Shortening] = {
    "A2": Shortening(2),
    "A60": Shortening(10),
    "A60b": Shortening(10),
    "ADev": Shortening(2),
    "ADev59": Shortening(10),
    "ADev10": Shortening(5),
    "B4_2": Shortening(2),
    "Cwake": Shortening(10),
    "Cwake2": Shortening(10),
    "Cwake3": Shortening(10),
    "F1": Shortening(2),
    "F3": Shortening(10),
    "F4": Shortening(10),
    "G3": Shortening(50),
    "H1": Shortening(5),
    "H2": Shortening(5),
    "H4": Shortening(5),
    "H14": Shortening(30),
    "I1": Shortening(50),
    "J1": Shortening(50),
    "J2": Shortening(50),
    "J3": Shortening(50),
    "J4": Shortening(25, 10),
    "J5": Shortening(30, 10),
    "J6": Shortening(30, 10),
    "J7": Shortening(50),
    "J8": Shortening(30, 10),
    "J9": Shortening(50),
    "Kget_503x12": Shortening(5, 5),
    "L1": Shortening(10),
}


def shorten(scenario: Scenario) -> Scenario:
    """Return the scenario with its times divided as SHORTENINGS says; the same if it says nothing."""
    by = SHORTENINGS.get(scenario.name)
    if by is None:
        return scenario
    longest_poll_s = scenario.settings.max_polling_interval_s / by.divisor
    hidden_s = scenario.times.hidden_s
    times = replace(
        scenario.times,
        hidden_s=round(hidden_s / by.divisor),
        renewal_s=scenario.times.renewal_s / by.divisor,
        first_retry_s=scenario.times.first_retry_s / by.retry_divisor,
    )
    return replace(
        scenario,
        settings=replace(scenario.settings, max_polling_interval_s=max(longest_poll_s, SHORTEST_CAP_S)),
        times=times,
        fault=_shorten_fault(scenario.fault, by.divisor),
        inputs=tuple(_shorten_input(action, by.divisor) for action in scenario.inputs),
        timeline=tuple(_shorten_event(event, by.divisor, {hidden_s: times.hidden_s}) for event in scenario.timeline),
        exit_at_s=scenario.exit_at_s / by.divisor,
        is_shortened=True,
    )


def _shorten_fault(fault: Fault | None, divisor: float) -> Fault | None:
    return fault and replace(fault, from_s=fault.from_s / divisor)


def _shorten_input(action: Input, divisor: float) -> Input:
    fields: dict[str, Any] = dict(action.fields)
    if "visibilitytimeout" in fields:
        fields["visibilitytimeout"] = round(fields["visibilitytimeout"] / divisor)
    if "sleep" in fields.get("body", {}):
        fields["body"] = {**fields["body"], "sleep": fields["body"]["sleep"] / divisor}
    return Input(action.at_s / divisor, action.op, action.queue, fields)


def _shorten_event(event: Event, divisor: float, seconds: Mapping[int, int]) -> Event:
    shorter = event.seconds if event.seconds is None else seconds.get(event.seconds, event.seconds)
    return replace(event, at_s=event.at_s / divisor, seconds=shorter)
