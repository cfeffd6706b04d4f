"""What people decide about jobs: cancel, retry, discard. Each says what came of it, also when somebody was faster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.api import views
from shared.api.asked import Decision, Discard, Redrive
from shared.api.models import JobDetail, Redriven
from shared.db import Database
from shared.errors import Conflict, NotFound
from shared.jobs import approvals, dead_letters, people, reading
from shared.jobs.dead_letters import Those
from shared.kinds.kind import Kind
from shared.log import logger
from shared.names import time_text

log = logger("decisions")


@dataclass(frozen=True)
class Decisions:
    """What deciding needs."""

    db: Database
    kinds: Mapping[str, Kind]

    async def cancel(self, job_id: int) -> tuple[JobDetail, bool]:
        """Cancel a job that no worker has, or ask the worker to stop where the kind allows it; whether it is done.

        Raises NotFound, Conflict.
        """
        stoppable = [kind.name for kind in self.kinds.values() if kind.is_cancellable]
        moved = await people.cancel(self.db, job_id, stoppable)
        if moved is None:
            raise await self._conflict(job_id, "only a queued job can be cancelled")
        is_done = moved.state == "cancelled"
        log.info("job %d: %s", job_id, "cancelled" if is_done else "asked to stop")
        return await self._job(job_id), is_done

    async def approve(self, job_id: int, decision: Decision) -> JobDetail:
        """Let a job go on that waits for it. Raises NotFound, Conflict."""
        if await approvals.approve(self.db, job_id, decision.decided_by, decision.comment) is None:
            raise await self._decided(job_id)
        log.info("job %d: queued (approved)", job_id)
        return await self._job(job_id)

    async def reject(self, job_id: int, decision: Decision) -> JobDetail:
        """End a job that waits for approval. Raises NotFound, Conflict."""
        if await approvals.reject(self.db, job_id, decision.decided_by, decision.comment) is None:
            raise await self._decided(job_id)
        log.info("job %d: cancelled (rejected)", job_id)
        return await self._job(job_id)

    async def retry(self, job_id: int) -> JobDetail:
        """Put a dead letter or a failed job back on the queue with a fresh budget. Raises NotFound, Conflict."""
        if await people.retry(self.db, job_id) is None:
            raise await self._conflict(job_id, "only a dead letter or a failed job can be retried")
        log.info("job %d: queued (retried by a person)", job_id)
        return await self._job(job_id)

    async def discard(self, job_id: int, body: Discard) -> JobDetail:
        """Throw a dead letter away: it becomes failed and leaves the poison queue. Raises NotFound, Conflict."""
        if await dead_letters.discard(self.db, job_id, body.discarded_by) is None:
            raise await self._conflict(job_id, "only a dead letter can be discarded")
        log.info("job %d: failed (discarded by a person)", job_id)
        return await self._job(job_id)

    async def retry_many(self, body: Redrive) -> Redriven:
        """Put dead letters or failed jobs back on the queue by a filter, or only count them."""
        those = Those(body.state, body.kind, body.workspace_id, body.error_code)
        if body.dry_run:
            done = await dead_letters.count_many(self.db, those)
        else:
            done = await dead_letters.retry_many(self.db, those, limit=body.limit)
        for job_id in done.job_ids:
            log.info("job %d: queued (retried by a person)", job_id)
        return Redriven(retried=len(done.job_ids), remaining=done.remaining)

    async def _job(self, job_id: int) -> JobDetail:
        row = await reading.one(self.db, job_id)
        if row is None:
            raise NotFound(f"There is no job {job_id}.")
        return views.job_detail(row, self.kinds.get(row.kind))

    async def _decided(self, job_id: int) -> Conflict:
        """Why nothing can be decided: somebody was faster, or the job never asked."""
        verdict = await approvals.latest(self.db, job_id)
        if verdict is None or verdict.decided_at is None:
            rule = "only a job that waits for approval, and not for too long, can be decided about"
            return await self._conflict(job_id, rule)
        who = f" by {verdict.decided_by}" if verdict.decided_by else ""
        return Conflict(f"Job {job_id} was {verdict.state}{who} at {time_text(verdict.decided_at)}.")

    async def _conflict(self, job_id: int, rule: str) -> Conflict:
        present = await self._job(job_id)
        return Conflict(f"Job {job_id} is {views.in_words(present.state)}: {rule}.")
