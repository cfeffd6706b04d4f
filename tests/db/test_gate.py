"""The gate: what a call costs the lane and the breaker when it is made, refused, or not made at all."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from shared.db import Database
from shared.errors import (
    BadAnswer,
    BreakerOpen,
    LaneBusy,
    Misconfigured,
    ProviderError,
    Throttled,
    TimedOut,
    Unavailable,
)
from shared.provider.breaker import Breaker
from shared.provider.client import Chat, Provider, Reply
from shared.provider.gate import Gate
from shared.provider.hints import Remaining
from shared.provider.lane import Lane, Limits

T = TypeVar("T")

ASK = Chat(messages=(("user", "x" * 36),), max_tokens=1, as_json=False)  # 10 tokens
ANSWER = Reply("fine", 10, Remaining(None, None))
LIMITS = Limits.per_minute(calls=1, burst=5, tokens=0)


class Over(Exception):
    """The run may make no call any more."""


@dataclass
class Run:
    """A run that counts what it is asked, and may not call any more after `checks_left` checks."""

    yields: bool = False
    checks_left: int = 100
    paused: list[float] = field(default_factory=list)

    async def check(self) -> None:
        self.checks_left -= 1
        if self.checks_left < 0:
            raise Over

    async def pause(self, seconds: float) -> None:
        self.paused.append(seconds)

    async def patiently(self, action: Callable[[], Awaitable[T]]) -> T:
        return await action()


class Script(Provider):
    """A provider that gives prepared answers, the last one for ever."""

    def __init__(self, *answers: Reply | ProviderError) -> None:
        self.answers = list(answers)
        self.calls = 0

    async def chat(self, ask: Chat, *, request_id: str) -> Reply:
        return self._next()

    async def embed(self, text: str, *, dimensions: int, request_id: str) -> tuple[list[float], Remaining]:
        self._next()
        return [0.1] * dimensions, Remaining(None, None)

    def _next(self) -> Reply:
        self.calls += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, ProviderError):
            raise answer
        return answer


def gate_of(db: Database, provider: Provider, limits: Limits = LIMITS, *, pause_max_s: float = 3600) -> Gate:
    return Gate(
        provider,
        Lane(db, limits, pause_max_s),
        {"chat": Breaker(db, "chat", 15, 3), "embeddings": Breaker(db, "embeddings", 15, 3)},
        hint_base_s=2,
        hint_cap_s=60,
    )


async def chat(gate: Gate, run: Run | None = None) -> str:
    return (await gate.chat(run or Run(), ASK, request_id="r")).text


async def level(gate: Gate) -> float:
    return round((await gate.lane.level()).calls, 1)


async def open_breaker(db: Database, *, half: bool = False) -> None:
    await db.execute(
        "UPDATE provider_breakers SET is_open = true, reason = 'away', opened_at = clock_timestamp(),"
        " retry_at = clock_timestamp() + %(s)s * interval '1 second'",
        {"s": 0 if half else 60},
    )


async def test_answer_then_one_call_is_used(db: Database) -> None:
    gate = gate_of(db, Script(ANSWER))
    assert await chat(gate) == "fine"
    assert await level(gate) == 4


async def test_breaker_when_open_then_no_call_and_the_permit_is_back(db: Database) -> None:
    provider = Script(ANSWER)
    gate = gate_of(db, provider)
    await chat(gate)
    await open_breaker(db)
    with pytest.raises(BreakerOpen) as refusal:
        await chat(gate)
    assert refusal.value.retry_after_s is not None
    assert 59 < refusal.value.retry_after_s <= 60
    assert (provider.calls, await level(gate)) == (1, 4)


@pytest.mark.parametrize("checks", [0, 1])
async def test_run_when_it_may_not_call_any_more_then_no_call_and_the_permit_is_back(db: Database, checks: int) -> None:
    provider = Script(ANSWER)
    gate = gate_of(db, provider)
    await chat(gate)
    with pytest.raises(Over):
        await chat(gate, Run(checks_left=checks))
    with pytest.raises(Over):
        await gate.embed(Run(checks_left=checks), "x", dimensions=3, request_id="r")
    assert (provider.calls, await level(gate)) == (1, 4)


async def test_run_when_the_breaker_made_it_wait_then_asked_again_just_before_the_call(db: Database) -> None:
    await db.execute(
        "UPDATE provider_breakers SET last_success_at = now() - interval '2 minutes',"
        " out_until = array_fill(now() + interval '0.3 seconds', ARRAY[4])"
    )
    provider = Script(ANSWER)
    run = Run(checks_left=1)
    with pytest.raises(Over):
        await chat(gate_of(db, provider), run)
    assert run.paused, "it had to wait for a place"
    assert provider.calls == 0


@pytest.mark.parametrize("error", [Unavailable("503"), TimedOut("late")])
async def test_trial_when_it_fails_then_it_costs_no_attempt_and_says_why(db: Database, error: ProviderError) -> None:
    await open_breaker(db, half=True)
    with pytest.raises(BreakerOpen) as refusal:
        await chat(gate_of(db, Script(error)))
    assert refusal.value.code == error.code
    assert await db.fetch_dict("SELECT trials, is_open FROM provider_breakers WHERE endpoint = 'chat'") == {
        "trials": 1,
        "is_open": True,
    }


async def test_trial_when_the_set_up_is_wrong_then_it_says_so(db: Database) -> None:
    await open_breaker(db, half=True)
    with pytest.raises(Misconfigured):
        await chat(gate_of(db, Script(Misconfigured("key"))))


@pytest.mark.parametrize("answer", [Throttled("429", retry_after_s=30), BadAnswer("no JSON"), ANSWER])
async def test_trial_when_the_provider_answers_at_all_then_closed(db: Database, answer: Reply | ProviderError) -> None:
    await open_breaker(db, half=True)
    try:
        await chat(gate_of(db, Script(answer)))
    except ProviderError as exc:
        assert exc is answer or isinstance(exc, Throttled)
    assert await db.fetch_dict("SELECT is_open FROM provider_breakers WHERE endpoint = 'chat'") == {"is_open": False}


async def test_refusal_when_short_then_waited_for_in_the_run_and_called_again(db: Database) -> None:
    provider = Script(Throttled("429", retry_after_s=0.1), ANSWER)
    gate = gate_of(db, provider, Limits.per_minute(calls=6000, burst=10, tokens=0))
    run = Run()
    assert await chat(gate, run) == "fine"
    assert provider.calls == 2
    assert sum(run.paused) >= 0.09


async def test_refusal_when_long_then_given_back_at_once(db: Database) -> None:
    provider = Script(Throttled("429", retry_after_s=30))
    began = time.monotonic()
    with pytest.raises(Throttled) as refusal:
        await chat(gate_of(db, provider))
    assert refusal.value.retry_after_s is not None
    assert 29 < refusal.value.retry_after_s <= 30
    assert (provider.calls, time.monotonic() - began < 1) == (1, True)


async def test_quota_when_used_up_then_given_back_with_the_time_until_the_next_call(db: Database) -> None:
    provider = Script(ANSWER)
    gate = gate_of(db, provider)
    for _ in range(5):
        await chat(gate)
    run = Run()
    with pytest.raises(LaneBusy) as refusal:
        await chat(gate, run)
    assert refusal.value.retry_after_s is not None
    assert 50 < refusal.value.retry_after_s <= 60
    assert (provider.calls, run.paused) == (5, [])


async def test_embedding_when_throttled_for_a_day_then_the_wait_is_cut_and_the_lane_is_not_concerned(
    db: Database,
) -> None:
    gate = gate_of(db, Script(Throttled("429", retry_after_s=86_400)), pause_max_s=60)
    with pytest.raises(Throttled) as refusal:
        await gate.embed(Run(), "x", dimensions=3, request_id="r")
    assert refusal.value.retry_after_s == 60
    assert (await gate.lane.level()).paused_until is None


async def test_note_when_the_database_is_away_then_the_answer_is_not_lost(db: Database) -> None:
    class Leaving(Script):
        async def chat(self, ask: Chat, *, request_id: str) -> Reply:
            await db.close()
            return ANSWER

    assert await chat(gate_of(db, Leaving(ANSWER))) == "fine"
