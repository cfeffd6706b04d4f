"""What callers look up: tickets and jobs, one or a page of them; and the customers they come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shared import artifacts, similar, tickets
from shared.api import views
from shared.api.asked import CustomerBody, JobQuery, SimilarQuery, TicketQuery
from shared.api.models import Customer, JobDetail, JobPage, SimilarTickets, Ticket, TicketPage
from shared.artifacts import Artifact
from shared.db import Database
from shared.errors import Conflict, FieldProblem, InvalidInput, NotFound
from shared.jobs import reading
from shared.jobs.reading import JobWay
from shared.jobs.states import FINISHED
from shared.kinds.kind import Kind
from shared.names import MAX_ID, job_number, ticket_name, ticket_number
from shared.similar import Place
from shared.waiting import WaitingRoom

LONGEST_POLL_S = 30


@dataclass(frozen=True)
class Status:
    """What looking up needs."""

    db: Database
    kinds: Mapping[str, Kind]
    waiting_room: WaitingRoom

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
        before = _cursor(query.after, ticket_number) or MAX_ID
        rows = await tickets.page(self.db, query.model_dump() | {"before": before, "limit": query.limit + 1})
        items = [views.ticket(row) for row in rows[: query.limit]]
        return TicketPage(items=items, next=items[-1].ticket_id if len(rows) > query.limit else None)

    async def similar(self, ticket_id: int, query: SimilarQuery) -> SimilarTickets:
        """The tickets of its workspace that are most like it. Raises NotFound; Conflict while it cannot be compared."""
        place = await similar.look(self.db, ticket_id)
        if place is None:
            raise NotFound(f"There is no ticket {ticket_name(ticket_id)}.")
        if not place.is_embedded:
            raise Conflict(_why_not_comparable(place))
        rows = await similar.nearest(self.db, place, query.k)
        return SimilarTickets(items=[views.similar(row) for row in rows])

    async def job(
        self, job_id: int, *, wait_s: int = 0, seen: tuple[str, int] | None = None
    ) -> tuple[JobDetail, int | None]:
        """The job, and in how many seconds it is worth asking again (None once it is finished).

        With `wait_s` the answer is held until its state or progress changes, or the time is up. A change is one from
        what the caller has `seen`, if it says so. Raises NotFound.
        """
        if wait_s:
            row = await self.waiting_room.wait(job_id, for_s=wait_s, seen=seen)
        else:
            row = await reading.one(self.db, job_id)
        if row is None:
            raise NotFound(f"There is no job {job_id}.")
        return views.job_detail(row, self.kinds.get(row.kind)), _ask_again_s(row)

    async def artifact(self, job_id: int, name: str, token: str) -> Artifact:
        """A file, for who has its token. Raises NotFound for everybody else, whatever there is."""
        file = await artifacts.find(self.db, job_id, name, token)
        if file is None:
            raise NotFound("There is no such file, or not with this token.")
        return file

    async def jobs(self, query: JobQuery) -> JobPage:
        """A page, newest first. Raises InvalidInput for a cursor of another list."""
        before = _cursor(query.after, job_number) or MAX_ID
        rows = await reading.page(self.db, query.model_dump() | {"before": before, "limit": query.limit + 1})
        items = [views.job(row) for row in rows[: query.limit]]
        return JobPage(items=items, next=str(items[-1].job_id) if len(rows) > query.limit else None)


def _why_not_comparable(place: Place) -> str:
    name = ticket_name(place.ticket_id)
    if place.ai_state is None:
        return f"Ticket {name} has no embedding to compare: it came without a job."
    reason = f" ({place.error_code})" if place.error_code else ""
    return f"Ticket {name} has no embedding yet: its job {place.job_id} is {views.in_words(place.ai_state)}{reason}."


def _ask_again_s(row: JobWay) -> int | None:
    if row.state in FINISHED:
        return None
    if row.state == "waiting_for_approval":  # people take their time
        return LONGEST_POLL_S
    return max(1, min(LONGEST_POLL_S, math.ceil(row.due_in_s)))


def _cursor(after: str | None, number: Callable[[str], int | None]) -> int | None:
    if after is None:
        return None
    before = number(after)
    if before is None:
        raise InvalidInput([FieldProblem("after", "is not a cursor of this list")])
    return before
