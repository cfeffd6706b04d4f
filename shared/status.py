"""What callers look up: tickets and jobs, one or a page of them; and the customers they come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shared import tickets
from shared.api import views
from shared.api.models import Customer, CustomerBody, JobDetail, JobPage, JobQuery, Ticket, TicketPage, TicketQuery
from shared.db import Database
from shared.errors import FieldProblem, InvalidInput, NotFound
from shared.jobs import reading
from shared.jobs.reading import JobWay
from shared.jobs.states import FINISHED
from shared.kinds.kind import Kind
from shared.names import job_number, ticket_name, ticket_number

LONGEST_POLL_S = 30


@dataclass(frozen=True)
class Status:
    """What looking up needs."""

    db: Database
    kinds: Mapping[str, Kind]

    async def put_customer(self, customer_id: str, body: CustomerBody) -> tuple[Customer, bool]:
        """The customer, and whether it is new."""
        row = await tickets.put_customer(self.db, {"customer_id": customer_id, **body.model_dump()})
        return Customer(customer_id=row.customer_id, name=row.name, workspace_id=row.workspace_id), row.was_created

    async def ticket(self, ticket_id: int) -> Ticket:
        """Raises NotFound."""
        row = await tickets.one(self.db, ticket_id)
        if row is None:
            raise NotFound(f"There is no ticket {ticket_name(ticket_id)}.")
        return views.ticket(row)

    async def tickets(self, query: TicketQuery) -> TicketPage:
        """A page, newest first. Raises InvalidInput for a cursor of another list."""
        before = _cursor(query.after, ticket_number)
        rows = await tickets.page(self.db, query.model_dump() | {"before": before, "limit": query.limit + 1})
        items = [views.ticket(row) for row in rows[: query.limit]]
        return TicketPage(items=items, next=items[-1].ticket_id if len(rows) > query.limit else None)

    async def job(self, job_id: int) -> tuple[JobDetail, int | None]:
        """The job, and in how many seconds it is worth asking again (None once it is finished). Raises NotFound."""
        row = await reading.one(self.db, job_id)
        if row is None:
            raise NotFound(f"There is no job {job_id}.")
        return views.job_detail(row, self.kinds.get(row.kind)), _ask_again_s(row)

    async def jobs(self, query: JobQuery) -> JobPage:
        """A page, newest first. Raises InvalidInput for a cursor of another list."""
        before = _cursor(query.after, job_number)
        rows = await reading.page(self.db, query.model_dump() | {"before": before, "limit": query.limit + 1})
        items = [views.job(row) for row in rows[: query.limit]]
        return JobPage(items=items, next=str(items[-1].job_id) if len(rows) > query.limit else None)


def _ask_again_s(row: JobWay) -> int | None:
    if row.state in FINISHED:
        return None
    return max(1, min(LONGEST_POLL_S, math.ceil(row.due_in_s)))


def _cursor(after: str | None, number: Callable[[str], int | None]) -> int | None:
    if after is None:
        return None
    before = number(after)
    if before is None:
        raise InvalidInput([FieldProblem("after", "is not a cursor of this list")])
    return before
