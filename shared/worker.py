"""The worker: one queue message, from claim to the arrow out of running."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from shared.db import Database, insist
from shared.errors import DatabaseUnavailable
from shared.jobs import claim as claims
from shared.jobs import leave, people
from shared.jobs.leave import Left
from shared.jobs.states import JobError
from shared.kinds.kind import Kind, Step
from shared.log import logger
from shared.provider.gate import Gate
from shared.queues.messages import WorkMessage
from shared.retry import backoff_s
from shared.runs.desk import WorkDesk
from shared.runs.outcomes import (
    Cancelled,
    Crashed,
    Failed,
    GivenBack,
    Lost,
    Outcome,
    OutOfPatience,
    Retried,
    Succeeded,
    outcome_of,
)
from shared.runs.run import PATIENCE_S, Heart, Run, Stopped

log = logger("worker")


class ShuttingDown(Exception):
    """This process takes no job any more; the message goes back to the queue for another one."""


@dataclass(frozen=True)
class Policy:
    """The numbers of a run, in seconds."""

    retry_base_s: float
    retry_cap_s: float
    slice_s: float


@dataclass(frozen=True)
class Worker:
    """What the queue functions work with."""

    db: Database
    gate: Gate
    heart: Heart
    kinds: Mapping[str, Kind]
    policy: Policy
    kick: Callable[[], None]

    async def work(self, text: str) -> None:
        """Do what the message asks for, if its job is still waiting for just this message.

        Raises UnreadableMessage for a text that names no job, DatabaseUnavailable when Postgres stayed away for
        120 s, and whatever a step raised that nobody expected: in each case the host counts a failed delivery.
        """
        message = WorkMessage.read(text)
        if not message.can_fit:
            log.warning("job %d: unknown, message dropped", message.job_id)
            return
        if self.heart.closing:
            raise ShuttingDown("the worker is shutting down")
        asked_at = time.monotonic()
        claim_id = uuid.uuid4()
        claim = await insist(
            lambda: claims.claim(self.db, message.job_id, message.delivery, claim_id, lease_s=self.heart.lease_s),
            for_s=PATIENCE_S,
        )
        if claim is None:
            await insist(lambda: self._not_claimed(message), for_s=PATIENCE_S)
            return
        log.info("job %d: running (attempt %d)", claim.job_id, claim.attempts)
        run = Run(claim, self.heart, claimed_at=asked_at, slice_s=self.policy.slice_s)
        with self.heart.beats_for(run):
            outcome = await self._carry_out(run)
            await self._leave(run, outcome)
        self.kick()
        if isinstance(outcome, Crashed):
            raise outcome.error

    async def _not_claimed(self, message: WorkMessage) -> None:
        """A message that is late, doubled or strange is dropped; one that names a dead letter's number is a retry."""
        present = await claims.present(self.db, message.job_id)
        if present is None:
            log.warning("job %d: unknown, message dropped", message.job_id)
        elif present.state == "dead_letter" and present.delivery == message.delivery:
            if await people.retry_by_message(self.db, message.job_id, message.delivery):
                log.info("job %d: queued (an operator put its dead letter back)", message.job_id)
        else:
            log.info(
                "job %d: message %d dropped, the job is %s and waits for %d",
                message.job_id,
                message.delivery,
                present.state,
                present.delivery,
            )

    async def _carry_out(self, run: Run) -> Outcome:
        """Do the steps, within the job's running time, and say how it went; never raises but for its own cancelling."""
        if run.seconds_left <= 0:
            return outcome_of(Stopped("deadline"))
        task = asyncio.create_task(self._steps(run), name=f"job-{run.claim.job_id}")
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
        return outcome_of(error) if error is not None else Succeeded(task.result())

    async def _steps(self, run: Run) -> dict[str, Any]:
        claim, kind = run.claim, self.kinds[run.claim.kind]
        desk = WorkDesk(run, self.db, self.gate, saved=dict(claim.saved))
        for step in kind.remaining(desk.saved):
            await run.check()
            await self._step(desk, kind, step)
        return kind.result(desk.saved)

    async def _step(self, desk: WorkDesk, kind: Kind, step: Step) -> None:
        claim, position = desk.claim, kind.steps.index(step)
        desk.step = step.name
        await desk.run.patiently(lambda: claims.start_step(self.db, claim, step.name, position))
        output = desk.saved[step.name] = await step.work(desk)
        needs = claims.Needs(kind.progress(desk.saved), kind.endpoint(desk.saved), kind.chat_calls(desk.saved))
        if not await desk.run.patiently(lambda: claims.save_step(self.db, claim, step.name, position, output, needs)):
            raise Stopped("lost")

    async def _leave(self, run: Run, outcome: Outcome) -> None:
        """Send the arrow that the outcome asks for, again while Postgres is away: the fence makes that safe."""
        claim = run.claim
        if isinstance(outcome, Lost):
            log.warning("job %d: run %d is no longer this worker's, nothing written", claim.job_id, claim.run)
            return
        patience_s = 0.0 if isinstance(outcome, OutOfPatience) else PATIENCE_S
        try:
            left = await insist(lambda: self._arrow(run, outcome), for_s=patience_s)
            ended = None if left else await insist(lambda: leave.how_it_ended(self.db, claim), for_s=patience_s)
        except DatabaseUnavailable:
            self.heart.owe(claim)
            raise
        if left is None:
            log.warning("job %d: run %d had ended before (%s)", claim.job_id, claim.run, ended or "taken away")
            return
        log.info("job %d: %s (attempt %d)%s", claim.job_id, left.state, claim.attempts, reason(outcome, left))

    async def _arrow(self, run: Run, outcome: Outcome) -> Left | None:
        db, claim, waited_s = self.db, run.claim, run.waited_s
        match outcome:
            case Succeeded(result):
                publish = self.kinds[claim.kind].publish
                return await leave.succeed(db, claim, result, publish=publish, waited_s=waited_s)
            case Failed(error):
                return await leave.fail(db, claim, error, waited_s=waited_s)
            case Retried(error, hint_s):
                return await self._retry(run, error, hint_s)
            case Crashed(crash):
                error = JobError("internal_error", f"The worker met an unexpected {type(crash).__name__}.")
                return await self._retry(run, error, None)
            case GivenBack(reason, wait_s, error):
                wait = self._backoff_s(claim.attempts) if wait_s is None else wait_s
                return await leave.give_back(db, claim, reason, wait_s=wait, waited_s=waited_s, error=error)
            case Cancelled():
                return await leave.give_back(db, claim, "shutdown", wait_s=0, waited_s=waited_s)
            case OutOfPatience():
                return await leave.give_back(db, claim, "lost", wait_s=0, waited_s=waited_s)
            case Lost():
                return None
            case _:
                assert_never(outcome)

    async def _retry(self, run: Run, error: JobError, hint_s: float | None) -> Left | None:
        claim = run.claim
        if claim.attempts >= claim.max_attempts:
            return await leave.dead_letter(self.db, claim, error, waited_s=run.waited_s)
        wait_s = max(self._backoff_s(claim.attempts), min(hint_s or 0.0, self.policy.retry_cap_s))
        return await leave.retry_later(self.db, claim, error, wait_s=wait_s, waited_s=run.waited_s)

    def _backoff_s(self, attempt: int) -> float:
        return backoff_s(attempt, base_s=self.policy.retry_base_s, cap_s=self.policy.retry_cap_s)


def reason(outcome: Outcome, left: Left) -> str:
    """What the log line of an arrow adds: why, and how long it waits."""
    match outcome:
        case Retried(error) | Failed(error):
            why = f"{error.code}: {error.message}"
        case GivenBack(given_back):
            why = given_back
        case Crashed(crash):
            why = f"internal_error: {type(crash).__name__}"
        case _:
            return ""
    return f", {why}" + (f", again in {left.wait_s:.1f} s" if left.state == "queued" else "")
