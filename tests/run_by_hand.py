"""A worker in the middle of a run that does at each step what the test says, as late as the test says it; it can
stall once more before the arrow that ends the run."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from shared.db import Connection, Database
from shared.errors import DatabaseUnavailable, LaneBusy, Misconfigured, Refused, Throttled, Unavailable
from shared.kinds import ticket
from shared.kinds.kind import Desk, Kind, Outputs, Step
from shared.worker import Worker
from tests.crash import asker

T = TypeVar("T")

#: What a step can come to, by the name of the job's outcome.
TROUBLE: Mapping[str, Callable[[], Exception]] = {
    "retry": lambda: Unavailable("The provider answered 503."),
    "failed": lambda: Refused("The provider answered 400."),
    "throttled": lambda: Throttled("The provider answered 429."),
    "quota": lambda: LaneBusy("The quota is used up."),
    "misconfigured": lambda: Misconfigured("The provider answered 401."),
    "unexpected": lambda: ValueError("nobody expected this"),
    "database away": DatabaseUnavailable,
}


class NoInput(BaseModel):
    """A review is asked for with nothing."""


def kinds_of(work: Callable[[Desk], Awaitable[str]]) -> dict[str, Kind]:
    """A ticket of two steps, and a review of two with a person's approval in between, that can be stopped."""
    first, second = Step("step_1", work, stage=1), Step("step_2", work, stage=3)
    asked = Step("approve", stage=2, is_approval=True)
    review = Kind(
        "review",
        queue="reports",
        plan=lambda _: (first, asked, second),
        deadline_s=600,
        result=dict,
        input=NoInput,
        is_cancellable=True,
    )
    return {
        "ticket": replace(ticket.KIND, plan=lambda _: (first, second), result=dict, publish=""),
        "review": review,
    }


class RunByHand:
    """One message given to a worker. Every output of a step is another text, so that a step saved twice shows.

    `fence`: job and run, once it has stood at a step; `saved`: what it believes to be saved, None unless it stands at
    one.
    """

    _numbers = itertools.count(1)

    def __init__(self, worker: Worker, body: str, *, slice_s: float, stalls: bool = False) -> None:
        policy = replace(worker.policy, slice_s=slice_s)
        arrows = StallingDatabase(worker.db, self._before_arrow)
        worker = replace(worker, db=arrows, kinds=kinds_of(self._step), policy=policy)
        self.fence: tuple[int, int] | None = None
        self.saved: Outputs | None = None
        self._stalls = stalls
        self._at_step = asyncio.Event()
        self._word: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(worker.work(body))

    @property
    def is_over(self) -> bool:
        return self._task.done()

    async def rest(self) -> None:
        """Until it stands at a step, or is over. Raises what the host would see, but for what was ordered."""
        at_step = asyncio.create_task(self._at_step.wait())
        await asyncio.wait({self._task, at_step}, return_when=asyncio.FIRST_COMPLETED)
        at_step.cancel()
        if self._task.done():
            with suppress(ValueError):
                self._task.result()

    async def tell(self, word: str, *, stalls: bool = False) -> None:
        """Let the step end: `saved`, or in trouble; whether it then `stalls` before the arrow that this leads to. One
        that stalls goes on at any word."""
        self._stalls, self.saved = stalls, None
        self._at_step.clear()
        told, self._word = self._word, asyncio.get_running_loop().create_future()
        told.set_result(word)
        await self.rest()

    async def settle(self) -> None:
        """Give a run that was stopped from outside the time to end."""
        if self._word.cancelled():
            await self._task

    async def kill(self) -> None:
        """The process dies at the step."""
        self._task.cancel()
        await asyncio.wait({self._task})
        self._word.cancel()

    async def _step(self, desk: Desk) -> str:
        self.fence, self.saved = (desk.claim.job_id, desk.claim.run), desk.saved
        self._stalls = False  # which was said of an arrow that the step before might have led to
        self._at_step.set()
        word = await self._word
        if word in TROUBLE:
            raise TROUBLE[word]()
        return f"output {next(self._numbers)}"

    async def _before_arrow(self) -> None:
        if self._stalls:
            self._stalls = False
            self._at_step.set()
            await self._word


class StallingDatabase(Database):
    """Another one's connections; a run's last statement waits for `before_arrow`."""

    def __init__(self, inner: Database, before_arrow: Callable[[], Awaitable[None]]) -> None:
        self._inner = inner
        self._before_arrow = before_arrow

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, in_transaction: bool = False) -> T:
        if asker().startswith("leave."):
            await self._before_arrow()
        return await self._inner.run(work, in_transaction=in_transaction)
