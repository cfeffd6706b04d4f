"""The gate before the provider: every call passes the breaker of its endpoint, a chat call also the lane."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from shared.errors import (
    BreakerOpen,
    DatabaseUnavailable,
    Final,
    LaneBusy,
    Misconfigured,
    ProviderError,
    Throttled,
)
from shared.log import logger
from shared.provider.breaker import Breaker, Entry
from shared.provider.client import Chat, Endpoint, Provider, Reply
from shared.provider.lane import FORECAST_S, PATIENCE_S, Lane

log = logger("gate")

T = TypeVar("T")

SHORTEST_WAIT_S = 0.02


class Caller(Protocol):
    """The run on whose behalf a call is made; one that `yields` lets others have the quota first."""

    @property
    def yields(self) -> bool: ...

    async def check(self) -> None:
        """Raise when no new call may be made."""

    async def pause(self, seconds: float) -> None:
        """Sleep, not counted as running time."""

    async def patiently(self, action: Callable[[], Awaitable[T]]) -> T:
        """Do it, again while the database is away."""


@dataclass(frozen=True)
class Gate:
    """What calls pass through. `hint_base_s` and `hint_cap_s` make the back-off where a refusal gave no hint."""

    provider: Provider
    lane: Lane
    breakers: Mapping[Endpoint, Breaker]
    hint_base_s: float
    hint_cap_s: float

    async def chat(self, caller: Caller, ask: Chat, *, request_id: str) -> Reply:
        """One answer.

        Raises LaneBusy or BreakerOpen when waiting a little did not help, and ProviderError.
        """
        cost, patience = ask.estimated_tokens, Patience()
        while True:
            await self._permit(caller, cost, patience)
            try:
                admission = await self._enter(caller, "chat", patience)
            except Exception:
                await noted(self.lane.give_back(cost))
                raise
            began = time.monotonic()
            try:
                reply = await admission.make(lambda: self.provider.chat(ask, request_id=request_id))
            except Throttled as exc:
                await self._refused(caller, exc, patience)
                continue
            await noted(self.lane.settle(cost, reply.tokens, reply.remaining, took_s=time.monotonic() - began))
            return reply

    async def embed(self, caller: Caller, text: str, *, dimensions: int, request_id: str) -> list[float]:
        """One embedding; not part of the chat quota. Raises BreakerOpen and ProviderError."""
        admission = await self._enter(caller, "embeddings", Patience())
        try:
            vector, _ = await admission.make(
                lambda: self.provider.embed(text, dimensions=dimensions, request_id=request_id)
            )
        except Throttled as exc:
            if exc.retry_after_s is not None:
                exc.retry_after_s = min(exc.retry_after_s, self.lane.pause_max_s)
            raise
        return vector

    async def _permit(self, caller: Caller, cost: int, patience: Patience) -> None:
        while True:
            permit = await caller.patiently(lambda: self.lane.take(cost, yields=caller.yields))
            if permit.is_granted:
                return
            if permit.wait_s > FORECAST_S or patience.left_s <= 0:  # what is nearer the relay would only announce again
                raise LaneBusy("The provider's quota is used up for now.", retry_after_s=permit.wait_s)
            await caller.pause(min(patience.left_s, max(SHORTEST_WAIT_S, permit.wait_s)) + 0.001)

    async def _refused(self, caller: Caller, refusal: Throttled, patience: Patience) -> None:
        """A 429 pauses the lane for everybody; a short pause is waited for here, a long one elsewhere."""
        wait_s = await caller.patiently(
            lambda: self.lane.pause(refusal.retry_after_s, base_s=self.hint_base_s, cap_s=self.hint_cap_s)
        )
        if wait_s > patience.left_s:
            raise Throttled(refusal.message, retry_after_s=wait_s) from refusal

    async def _enter(self, caller: Caller, endpoint: Endpoint, patience: Patience) -> Admission:
        """Ask the breaker; whether the run may still make a call is asked last, for the waiting may have cost it."""
        breaker, call_id = self.breakers[endpoint], uuid.uuid4()
        await caller.check()
        while True:
            entry = await caller.patiently(lambda: breaker.enter(call_id))
            if entry.may_call:
                await caller.check()
                return Admission(breaker, call_id, entry)
            if entry.is_open or patience.left_s <= 0:
                why = entry.reason or f"The provider's {endpoint} endpoint has to prove itself first."
                raise BreakerOpen(why, retry_after_s=entry.wait_s)
            await caller.pause(entry.wait_s)


@dataclass(frozen=True)
class Admission:
    """One call that the breaker lets through, and that it has to be told the result of."""

    breaker: Breaker
    call_id: uuid.UUID
    entry: Entry

    async def make(self, call: Callable[[], Awaitable[T]]) -> T:
        """Make the call. Raises ProviderError."""
        breaker, call_id, entry = self.breaker, self.call_id, self.entry
        try:
            answer = await call()
        except (Throttled, Final):
            await noted(breaker.succeeded(call_id, entry))  # it is up, whatever it thinks of this call
            raise
        except ProviderError as exc:
            is_setup = isinstance(exc, Misconfigured)
            await noted(breaker.failed(call_id, entry, f"{exc.code}: {exc.message}", at_once=is_setup))
            if entry.is_trial and not is_setup:
                # A trial costs no attempt: the breaker knew better and let it through all the same.
                raise BreakerOpen(exc.message, code=exc.code, retry_after_s=breaker.cool_down_s) from exc
            raise
        await noted(breaker.succeeded(call_id, entry))
        return answer


async def noted(note: Awaitable[object]) -> None:
    """Leave a note for the other callers; an answer that is paid for is not lost for want of it."""
    try:
        await note
    except DatabaseUnavailable:
        log.warning("the database is away: the shared lane was not told of a call's result")


class Patience:
    """The little time that one call may spend on waiting."""

    def __init__(self) -> None:
        self._until = time.monotonic() + PATIENCE_S

    @property
    def left_s(self) -> float:
        return self._until - time.monotonic()
