"""The provider itself: decides when a call arrives what to answer and when; it neither waits nor sends."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from simulator.provider import refusals, wire
from simulator.provider.answers import answer_chat
from simulator.provider.bucket import Quota, open_quotas
from simulator.provider.calls import Call, Endpoint
from simulator.provider.counters import Counters
from simulator.provider.embedding import embed
from simulator.provider.garble import choose_variant, spoil
from simulator.provider.timing import draw_duration, draw_refusal
from simulator.provider.verdicts import VERDICTS, WRONG_KEY
from simulator.provider.weather import QUOTA_MODE_BURST, QUOTA_MODE_RPM, SLOW_FACTOR, Treatment, Turn, Weather

_ENDINGS: Final[dict[str, wire.Ending]] = {"stall": "never", "drop": "cut"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What will happen to a call: `reply` after `delay_s` seconds."""

    delay_s: float
    reply: wire.Reply


class Simulation:
    """A provider under some weather, with its quota, its script and its counters.

    `clock` (monotonic) and `wall` (Unix time) give seconds; the same `seed` and calls give the same times.
    """

    def __init__(
        self,
        weather: Weather | None = None,
        *,
        seed: int = 1,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.first_weather = weather or Weather()
        self.counters = Counters()
        self._seed = seed
        self._clock = clock
        self._wall = wall
        self.restart()

    def restart(self) -> None:
        """Back to the first weather: full bucket, empty script, counters at zero."""
        self.weather = self.first_weather
        self.script: deque[Turn] = deque()
        self.counters.reset()
        self._rng = Random(self._seed)
        self._quotas = self._fill_quotas()
        self._number = 0

    def change(self, weather: Weather) -> None:
        """Other weather from the next call on; the bucket keeps its level unless its limits change."""
        same_limits = weather.limits() == self.weather.limits()
        self.weather = weather
        if not same_limits:
            self._quotas = self._fill_quotas()

    def play(self, turns: Iterable[Turn]) -> None:
        """Replace the script; each entry is used up by the next calls that it concerns."""
        self.script = deque(turns)

    def begin(self, call: Call, authorised: bool = True) -> Plan:
        """Decide and count one call. Call it inside `counters.under_way()`."""
        plan = self._treat(call, self._treatment_for(call)) if authorised else self._refuse(call, WRONG_KEY)
        self.counters.record(call.task, plan.reply.outcome(), call.mark, self._wall())
        return plan

    def _treatment_for(self, call: Call) -> Treatment:
        for position, turn in enumerate(self.script):
            if turn.concerns(call.task):
                if turn.times > 1:
                    self.script[position] = turn.model_copy(update={"times": turn.times - 1})
                else:
                    del self.script[position]
                return turn
        weather = self.weather
        touched = weather.concerns(call.task) and self._rng.random() < weather.share
        return weather if touched else Treatment()

    def _treat(self, call: Call, treatment: Treatment) -> Plan:
        match treatment.mode:
            case "outage" | "error":
                return self._refuse(call, refusals.failed(treatment))
            case "refuse":
                return self._refuse(call, refusals.hinted(call.model, treatment, self._wall()))
        variant = treatment.variant
        if treatment.mode == "garbled":
            variant = variant or choose_variant(call, self._number)
            if variant in VERDICTS:
                return self._refuse(call, VERDICTS[variant])
        return self._answer(call, treatment, variant)

    def _answer(self, call: Call, treatment: Treatment, variant: str | None) -> Plan:
        now, quota = self._clock(), self._quotas[call.endpoint]
        self._number += 1
        body = self._good_body(call)
        wait_s = quota.ask(body["usage"]["total_tokens"], now)
        if wait_s:
            refusal = refusals.rate_limited(call.model, wait_s, self.weather.quota == "window")
            return self._refuse(call, refusal, by_quota=True)
        spoilt = spoil(call, body, variant) if treatment.mode == "garbled" and variant else body
        ending = _ENDINGS.get(treatment.mode, "whole")
        if ending == "cut" and variant == "halfway":
            ending = "cut_halfway"
        slow = SLOW_FACTOR if treatment.mode == "slow" else 1.0
        return Plan(self._duration(call) * slow, wire.Reply(200, spoilt, quota.headers(now), ending))

    def _good_body(self, call: Call) -> wire.Body:
        if call.endpoint == "embeddings":
            return wire.embeddings(call, [embed(text, call.dimensions) for text in call.inputs])
        return wire.completion(call, answer_chat(call), number=self._number, created=int(self._wall()))

    def _duration(self, call: Call) -> float:
        fixed = self.weather.fixed_for(call.task)
        if fixed is not None:
            return fixed
        return draw_duration(call.task, self.counters.in_flight, self._rng) * self.weather.latency_factor

    def _refuse(self, call: Call, reply: wire.Reply, by_quota: bool = False) -> Plan:
        headers = self._quotas[call.endpoint].headers(self._clock(), by_quota)
        delay_s = draw_refusal(self._rng) * self.weather.latency_factor
        return Plan(delay_s, replace(reply, headers=reply.headers + headers))

    def _fill_quotas(self) -> dict[Endpoint, Quota]:
        weather = self.weather
        rpm, burst = weather.rpm, weather.burst or weather.rpm
        if weather.mode == "quota":
            rpm, burst = QUOTA_MODE_RPM, QUOTA_MODE_BURST
        chat, embeddings = open_quotas(rpm, burst, weather.tpm, weather.quota == "window", self._clock())
        return {"chat": chat, "embeddings": embeddings}
