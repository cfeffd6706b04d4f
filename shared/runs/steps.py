"""The work of a run: steps in order, those of one stage side by side, each saved as soon as it is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from shared.artifacts import checked
from shared.jobs import claim as claims
from shared.kinds.kind import Kind, Plan, Step
from shared.log import about
from shared.runs.desk import WorkDesk
from shared.runs.outcomes import Outcome, Succeeded, Waiting, outcome_of
from shared.runs.run import Run, Stopped
from shared.signals import family


async def carry_out(desk: WorkDesk, kind: Kind) -> Outcome:
    """Do the steps within the job's running time, and say how it went; raises only when it is cancelled itself."""
    run = desk.run
    if run.seconds_left <= 0:
        return outcome_of(Stopped("deadline"))
    task = asyncio.create_task(Performance(desk, kind).play(), name=f"job-{run.claim.job_id}")
    run.works_in(task)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=max(0.01, run.seconds_left))
            if run.seconds_left <= 0:
                run.stop("deadline")
    except asyncio.CancelledError:
        task.cancel()
        raise
    if task.cancelled():
        return outcome_of(Stopped(run.stopped or "shutdown"))
    error = task.exception()
    return outcome_of(error) if error is not None else task.result()


@dataclass
class Performance:
    """One run's way through the plan."""

    desk: WorkDesk
    kind: Kind
    has_failed: bool = False
    has_saved: bool = False

    @property
    def plan(self) -> Plan:
        return Plan.of(self.kind, self.desk.saved, wants_approval=self.desk.claim.wants_approval)

    async def play(self) -> Outcome:
        """Stage by stage, until all is done or a person has to decide."""
        while steps := self.plan.next:
            await self.desk.run.check()
            if steps[0].is_approval:
                return Waiting(steps[0].name, checked(self.kind.preview(self.desk.saved)))
            await self._stage(steps)
        saved = self.desk.saved
        return Succeeded(self.kind.result(saved), checked(self.kind.artifacts(saved)))

    async def _stage(self, steps: tuple[Step, ...]) -> None:
        """The steps of a stage, `parallel` at a time. After a failure nothing new begins, but a call that is under
        way is paid for, so it is awaited and saved."""
        run: Run = self.desk.run
        queue = iter(steps)
        hands = min(self.kind.parallel, len(steps))
        with run.side_by_side(hands):
            results = await asyncio.gather(*(self._hand(queue) for _ in range(hands)), return_exceptions=True)
        for result in results:
            if result is not None:
                raise result

    async def _hand(self, queue: Iterator[Step]) -> None:
        with self.desk.run.hand():
            for step in queue:
                if self.has_failed:
                    return
                try:
                    await self._step(step)
                except BaseException:
                    self.has_failed = True
                    raise

    async def _step(self, step: Step) -> None:
        desk = replace(self.desk, step=step.name)
        claim, run, before = desk.claim, desk.run, self.plan
        position = before.names.index(step.name)
        if self.has_saved and run.slice_is_over:  # a run that saved nothing would only be repeated
            raise Stopped("slice")
        await run.check()
        await run.patiently(lambda: claims.start_step(desk.db, claim, step.name, position, step.detail))
        output = await self._work(desk, step)
        desk.saved[step.name] = output
        needs = _needs(before, self.plan)
        if not await run.patiently(lambda: claims.save_step(desk.db, claim, step.name, position, output, needs)):
            raise Stopped("lost")
        self.has_saved = True

    async def _work(self, desk: WorkDesk, step: Step) -> Any:
        began = time.monotonic()
        with about(step=step.name), desk.signals.span(f"step {family(step.name)}"):
            output = await step.work(desk)
        dimensions = {"kind": self.kind.name, "step": family(step.name)}
        desk.signals.step_seconds.record(time.monotonic() - began, dimensions)
        return output


def _needs(before: Plan, now: Plan) -> claims.Needs:
    """What the job's row has to know; steps that the output has made known are planned for people to see."""
    has_grown = len(now.steps) > len(before.steps)
    new = [(step, at) for at, step in enumerate(now.steps) if has_grown and step.name not in now.saved]
    return claims.Needs(
        progress=now.progress,
        endpoint=now.endpoint,
        chat_calls=now.chat_calls,
        planned=[step.name for step, _ in new],
        positions=[at for _, at in new],
        details=[step.detail for step, _ in new],
    )
