"""The worker: one queue message, from claim to the arrow out of running."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import assert_never

from opentelemetry.trace import Span, SpanKind, get_current_span

from shared.db import Database, insist
from shared.errors import DatabaseUnavailable
from shared.jobs import claim as claims
from shared.jobs import leave, people
from shared.jobs.claim import Claim
from shared.jobs.leave import Left
from shared.jobs.states import JobError
from shared.kinds.kind import Kind, Step
from shared.log import about, facts, logger
from shared.provider.gate import Gate
from shared.queues.messages import SYSTEM, WorkMessage
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
    Waiting,
    code_of,
    in_words,
)
from shared.runs.run import PATIENCE_S, Heart, Run
from shared.runs.steps import carry_out
from shared.signals import SILENT, Signals, note_end, remote
from shared.webhooks.courier import Courier

log = logger("worker")


class ShuttingDown(Exception):
    """This process takes no job any more; the message goes back to the queue for another one."""


@dataclass(frozen=True)
class Policy:
    """The numbers of a run, in seconds."""

    retry_base_s: float
    retry_cap_s: float
    slice_s: float
    approval_ttl_s: float


@dataclass(frozen=True)
class Worker:
    """What the queue functions work with."""

    db: Database
    gate: Gate
    courier: Courier
    heart: Heart
    kinds: Mapping[str, Kind]
    policy: Policy
    kick: Callable[[], None]
    signals: Signals = SILENT

    async def work(self, text: str, host_traceparent: str | None = None) -> None:
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
        with about(job_id=message.job_id), self._processing(message, host_traceparent):
            await self._work(message)

    def _processing(self, message: WorkMessage, host_traceparent: str | None) -> AbstractContextManager[Span]:
        """One message is one piece of work: its span goes on below the one that sent it, and the trace stays one."""
        return self.signals.span(
            "process job",
            SpanKind.CONSUMER,
            parent=remote(message.traceparent),
            beside=remote(host_traceparent),
            attributes={"messaging.system": SYSTEM, "messaging.operation.name": "process"},
        )

    async def _work(self, message: WorkMessage) -> None:
        claim_id = uuid.uuid4()
        asked_at = time.monotonic()
        claim = await insist(
            lambda: claims.claim(self.db, message.job_id, message.delivery, claim_id, lease_s=self.heart.lease_s),
            for_s=PATIENCE_S,
        )
        if claim is None:
            await insist(lambda: self._not_claimed(message), for_s=PATIENCE_S)
            return
        with about(**claim.facts):
            get_current_span().set_attributes(facts())
            await self._run(claim, asked_at)

    async def _run(self, claim: Claim, asked_at: float) -> None:
        log.info("job %d: running (attempt %d)", claim.job_id, claim.attempts)
        kind = self.kinds.get(claim.kind) or unknown(claim.kind)
        run = Run(claim, self.heart, claimed_at=time.monotonic(), slice_s=self.policy.slice_s, yields=kind.yields)
        run.lease_until = asked_at + self.heart.lease_s  # the first try may have had it, and its answer was lost
        with self.heart.beats_for(run):
            desk = WorkDesk(run, self.db, self.gate, self.courier, dict(claim.saved), self.signals)
            outcome = await carry_out(desk, kind)
            await self._leave(run, kind, outcome)
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

    async def _leave(self, run: Run, kind: Kind, outcome: Outcome) -> None:
        """Send the arrow that the outcome asks for, again while Postgres is away: the fence makes that safe."""
        claim = run.claim
        if isinstance(outcome, Lost):
            log.warning("job %d: run %d is no longer this worker's, nothing written", claim.job_id, claim.run)
            return
        patience_s = 0.0 if isinstance(outcome, OutOfPatience) else PATIENCE_S
        try:
            left = await insist(lambda: self._arrow(run, kind, outcome), for_s=patience_s)
            ended = None if left else await insist(lambda: leave.how_it_ended(self.db, claim), for_s=patience_s)
        except DatabaseUnavailable:
            self.heart.owe(claim)
            raise
        if left is None:
            log.warning("job %d: run %d had ended before (%s)", claim.job_id, claim.run, ended or "taken away")
            return
        note_end(get_current_span(), left.state, code_of(outcome))
        log.info("job %d: %s (attempt %d)%s", claim.job_id, left.state, claim.attempts, in_words(outcome, left))

    async def _arrow(self, run: Run, kind: Kind, outcome: Outcome) -> Left | None:
        db, claim, waited_s = self.db, run.claim, run.waited_s
        match outcome:
            case Succeeded(result, files):
                return await leave.succeed(db, claim, result, publish=kind.publish, waited_s=waited_s, files=files)
            case Waiting(step, preview):
                ttl_s = self.policy.approval_ttl_s
                return await leave.wait_for_approval(db, claim, step, preview, ttl_s=ttl_s, waited_s=waited_s)
            case Failed(error):
                return await leave.fail(db, claim, error, waited_s=waited_s)
            case Retried(error, hint_s):
                return await self._retry(run, kind, error, hint_s)
            case Crashed(crash):
                error = JobError("internal_error", f"The worker met an unexpected {type(crash).__name__}.")
                return await self._retry(run, kind, error, None)
            case GivenBack(reason, wait_s, error):
                wait = self._backoff_s(kind, claim.attempts) if wait_s is None else wait_s
                return await leave.give_back(db, claim, reason, wait_s=wait, waited_s=waited_s, error=error)
            case Cancelled():
                return await leave.give_back(db, claim, "shutdown", wait_s=0, waited_s=waited_s)
            case OutOfPatience():
                return await leave.give_back(db, claim, "lost", wait_s=0, waited_s=waited_s)
            case Lost():
                return None
            case _:
                assert_never(outcome)

    async def _retry(self, run: Run, kind: Kind, error: JobError, hint_s: float | None) -> Left | None:
        claim = run.claim
        is_too_old = kind.max_age_s is not None and claim.age_s >= kind.max_age_s
        if claim.attempts >= claim.max_attempts or is_too_old:
            return await leave.dead_letter(self.db, claim, error, waited_s=run.waited_s)
        wait_s = max(self._backoff_s(kind, claim.attempts), min(hint_s or 0.0, self.policy.retry_cap_s))
        return await leave.retry_later(self.db, claim, error, wait_s=wait_s, waited_s=run.waited_s)

    def _backoff_s(self, kind: Kind, attempt: int) -> float:
        base_s = kind.retry_base_s or self.policy.retry_base_s
        return backoff_s(attempt, base_s=base_s, cap_s=kind.retry_cap_s or self.policy.retry_cap_s)


def unknown(name: str) -> Kind:
    """A kind that this release does not know: a job of it breaks as at a step, is retried, and may meet another one."""

    def plan(_: object) -> tuple[Step, ...]:
        raise KeyError(f"no kind of job is called {name}")

    return Kind(name, queue="", plan=plan, deadline_s=0, result=lambda _: {})
