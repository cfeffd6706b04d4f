"""What callers may see and do: tickets, jobs, customers, the queue's numbers, health."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from shared import tickets
from shared.db import Database
from shared.errors import Conflict, DatabaseUnavailable, FieldProblem, InvalidInput, NotFound
from shared.jobs import people, reading
from shared.jobs.reading import JobRow, JobWay
from shared.jobs.states import FINISHED
from shared.kinds.kind import Kind
from shared.log import logger
from shared.models import (
    Customer,
    CustomerBody,
    Job,
    JobDetail,
    JobPage,
    JobQuery,
    Queue,
    Ready,
    Step,
    Ticket,
    TicketPage,
    TicketQuery,
)
from shared.names import job_number, ticket_name, ticket_number
from shared.queues import Queues
from shared.tickets import TicketRow

log = logger("status")

MAX_POLL_S = 30


@dataclass(frozen=True)
class Status:
    """What the reading functions and the people's arrows work with."""

    db: Database
    queues: Queues
    kinds: Mapping[str, Kind]

    async def put_customer(self, customer_id: str, body: CustomerBody) -> tuple[Customer, bool]:
        """The customer, and whether it is new."""
        row = await tickets.put_customer(self.db, {"customer_id": customer_id, **body.model_dump()})
        return Customer(customer_id=row.customer_id, name=row.name, workspace_id=row.workspace_id), row.was_created

    async def ticket(self, ticket_id: int) -> Ticket:
        row = await tickets.one(self.db, ticket_id)
        if row is None:
            raise NotFound(f"There is no ticket {ticket_name(ticket_id)}.")
        return _ticket(row)

    async def tickets(self, query: TicketQuery) -> TicketPage:
        filters = query.model_dump() | {
            "before": _cursor(query.after, ticket_number),
            "limit": query.limit + 1,
        }
        rows = await tickets.page(self.db, filters)
        items = [_ticket(row) for row in rows[: query.limit]]
        return TicketPage(items=items, next=items[-1].ticket_id if len(rows) > query.limit else None)

    async def job(self, job_id: int) -> tuple[JobDetail, int | None]:
        """The job, and in how many seconds it is worth asking again (None once it is finished)."""
        row = await reading.one(self.db, job_id)
        if row is None:
            raise NotFound(f"There is no job {job_id}.")
        return self._detail(row), _ask_again_s(row)

    async def jobs(self, query: JobQuery) -> JobPage:
        filters = query.model_dump() | {"before": _cursor(query.after, job_number), "limit": query.limit + 1}
        rows = await reading.page(self.db, filters)
        items = [Job.model_validate(_job_fields(row)) for row in rows[: query.limit]]
        return JobPage(items=items, next=str(items[-1].job_id) if len(rows) > query.limit else None)

    async def cancel(self, job_id: int) -> JobDetail:
        """Cancel a job that no worker has yet. Raises NotFound, Conflict."""
        if await people.cancel(self.db, job_id) is None:
            present, _ = await self.job(job_id)
            raise Conflict(f"Job {job_id} is {_said(present.state)}: only a queued job can be cancelled.")
        log.info("job %d: cancelled", job_id)
        return (await self.job(job_id))[0]

    async def retry(self, job_id: int) -> JobDetail:
        """Put a dead letter or a failed job back on the queue with a fresh budget. Raises NotFound, Conflict."""
        if await people.retry(self.db, job_id) is None:
            present, _ = await self.job(job_id)
            raise Conflict(
                f"Job {job_id} is {_said(present.state)}: only a dead letter or a failed job can be retried."
            )
        log.info("job %d: queued (retried by a person)", job_id)
        return (await self.job(job_id))[0]

    async def queue(self) -> Queue:
        return Queue.model_validate(await reading.numbers(self.db))

    async def ready(self) -> Ready:
        """Ready means that tickets can be accepted: Postgres answers. The rest is shown."""
        database, queue = await asyncio.gather(self._database_answers(), self.queues.answers())
        return Ready(
            ready=database,
            checks={
                "database": "ok" if database else "unreachable",
                "queue": "ok" if queue else "unreachable",
            },
        )

    async def _database_answers(self) -> bool:
        try:
            await self.db.fetch_dict("SELECT 1 AS one")
        except DatabaseUnavailable:
            return False
        return True

    def _detail(self, row: JobWay) -> JobDetail:
        kind = self.kinds.get(row.kind)
        begun = {step["name"]: step for step in row.steps}
        planned = {step.name: {"name": step.name, "state": "pending"} for step in (kind.steps if kind else ())}
        steps = [_step(step, row.state) for step in (planned | begun).values()]
        return JobDetail.model_validate(_job_fields(row) | {"steps": steps, "history": row.history})


def _step(step: dict[str, Any], job_state: str) -> Step:
    """A step as begun by a run; one that no run works at now waits for the next, or failed with the job."""
    if step["state"] == "running" and job_state != "running":
        step = step | {"state": "failed" if job_state in ("failed", "dead_letter") else "pending"}
    return Step.model_validate(step)


def _ask_again_s(row: JobWay) -> int | None:
    if row.state in FINISHED:
        return None
    return max(1, min(MAX_POLL_S, math.ceil(row.due_in_s)))


def _job_fields(row: JobRow) -> dict[str, Any]:
    return asdict(row) | {"ticket_id": ticket_name(row.ticket_id)}


def _ticket(row: TicketRow) -> Ticket:
    return Ticket.model_validate(asdict(row) | {"ticket_id": ticket_name(row.ticket_id)})


def _cursor(after: str | None, number: Any) -> int | None:
    if after is None:
        return None
    before: int | None = number(after)
    if before is None:
        raise InvalidInput([FieldProblem("after", "is not a cursor of this list")])
    return before


def _said(state: str) -> str:
    return state.replace("_", " ") if state != "dead_letter" else "a dead letter"
