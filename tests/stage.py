"""What tests handle: the queues of one test, tickets to send, and what the rows say."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueMessage
from azure.storage.queue.aio import QueueClient, QueueServiceClient
from psycopg.rows import dict_row

from migrations.__main__ import migrate
from shared.api.asked import NewTicket
from shared.db import Database, Row
from shared.intake import Asked
from shared.wiring import App
from shared.worker import Worker
from simulator.provider.simulation import Simulation

T = TypeVar("T")

#: The app under test acts as this role; the fixture `db` may do more.
APP_ROLE = "larkfield_app"

#: A ticket of C-0022 with its job and outbox row, as intake leaves them.
SEED = """
WITH ticket AS (
    INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)
    VALUES ('C-0022', 'team_42', 'Charged twice', '', 'web_form') RETURNING ticket_id
), job AS (
    INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s, endpoint, chat_calls_left,
                      request_id)
    SELECT 'ticket', 'tickets', ticket_id, 'team_42', 'customer:C-0022', 5, 120, 'chat', 2, 'r1' FROM ticket
    RETURNING job_id, delivery
), announcement AS (
    INSERT INTO outbox (queue, purpose, job_id, delivery) SELECT 'tickets', 'work', job_id, delivery FROM job
)
SELECT job_id FROM job
"""


class Mailroom:
    """The queues of one test, under names nobody else uses."""

    def __init__(self, connection_string: str) -> None:
        self.connection_string = connection_string
        self._own = secrets.token_hex(4)
        self.tickets = f"{self._own}-tickets"
        self.reports = f"{self._own}-reports"
        self.webhooks = f"{self._own}-webhooks"
        self._service = QueueServiceClient.from_connection_string(connection_string)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        async for queue in self._service.list_queues(name_starts_with=self._own):
            await self._service.delete_queue(queue.name)
        await self._service.close()

    def queue(self, name: str) -> QueueClient:
        return self._service.get_queue_client(name)

    async def take(self, name: str) -> list[QueueMessage]:
        """Take every visible message off a queue; [] for a queue that does not exist."""
        queue = self.queue(name)
        taken = []
        try:
            async for message in queue.receive_messages(messages_per_page=32, visibility_timeout=60):
                taken.append(message)
                await queue.delete_message(message)
        except ResourceNotFoundError:
            return []
        return taken

    async def take_texts(self, name: str) -> list[str]:
        """The same, as the trigger hands them to a function."""
        return [base64.b64decode(message.content).decode() for message in await self.take(name)]

    async def peek(self, name: str) -> list[dict[str, Any]]:
        """What a person sees on a queue (at most 32)."""
        try:
            messages = await self.queue(name).peek_messages(max_messages=32)
        except ResourceNotFoundError:
            return []
        return [json.loads(base64.b64decode(message.content)) for message in messages]


def make_schema(url: str) -> None:
    """The newest schema, and the app's role with the rights that a deployment gives it."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {APP_ROLE} LOGIN")
    migrate(url, app_role=APP_ROLE, say=False)


async def until(condition: Callable[[], Awaitable[T]], what: str, *, within_s: float = 15.0) -> T:
    """Ask every few milliseconds until the answer is true; it is returned. Raises TimeoutError naming `what`."""
    give_up_at = time.monotonic() + within_s
    while not (answer := await condition()):
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"{what}: not within {within_s:g} s")
        await asyncio.sleep(0.01)
    return answer


async def accept(app: App, **more: str) -> int:
    """Send a ticket; its job's id."""
    new = NewTicket.model_validate({"customer_id": "C-0022", "subject": "Charged twice", **more})
    accepted, _ = await app.intake.accept_ticket(new, Asked("r1"), key=None)
    return accepted.job_id


@asynccontextmanager
async def transaction(url: str) -> AsyncIterator[psycopg.AsyncConnection[Row]]:
    """A session of a stranger, inside BEGIN … COMMIT."""
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row) as connection:
        yield connection


async def seed(url: str, how_many: int) -> list[int]:
    """Queued jobs, made in one transaction."""
    async with transaction(url) as connection:
        rows = [await (await connection.execute(SEED)).fetchone() for _ in range(how_many)]
    return [row["job_id"] for row in rows if row is not None]


async def announce(app: App, mailroom: Mailroom) -> list[str]:
    """One pass of the relay, and the ticket messages that lie on the queue after it."""
    await app.relay.run_pass(stay_s=0)
    return await mailroom.take_texts(mailroom.tickets)


def numbers(texts: list[str]) -> list[tuple[int, int]]:
    """Work messages as (job_id, delivery), in order."""
    return sorted((json.loads(text)["job_id"], json.loads(text)["delivery"]) for text in texts)


async def work_once(app: App, mailroom: Mailroom, worker: Worker) -> None:
    """One round, without waiting for due times: what is queued is announced and worked."""
    await hasten(app.db)
    for text in await announce(app, mailroom):
        await worker.work(text)


async def finish(app: App, mailroom: Mailroom, worker: Worker) -> None:
    """Rounds of work until no job is queued any more (at most 20)."""
    for _ in range(20):
        await work_once(app, mailroom, worker)
        if not await app.db.fetch_dicts("SELECT 1 AS one FROM jobs WHERE state = 'queued' LIMIT 1"):
            return
    raise TimeoutError("the jobs do not come to an end")


async def hasten(db: Database) -> None:
    """Let time pass: whatever waits for its time, or for a pass that died, is due now."""
    await db.execute("UPDATE jobs SET run_after = now() WHERE state = 'queued' AND run_after > now()")
    await db.execute("UPDATE outbox SET due_at = least(due_at, now()), claimed_until = NULL")


async def job_row(db: Database, job_id: int) -> Row:
    """The job's whole row."""
    row = await db.fetch_dict("SELECT * FROM jobs WHERE job_id = %(job_id)s", {"job_id": job_id})
    assert row is not None, f"no job {job_id}"
    return row


async def runs_of(db: Database, job_id: int) -> list[tuple[int, int, str | None]]:
    """The job's history as (run, attempt, outcome)."""
    rows = await db.fetch_dicts(
        "SELECT run, attempt, outcome FROM job_runs WHERE job_id = %(job_id)s ORDER BY run", {"job_id": job_id}
    )
    return [(row["run"], row["attempt"], row["outcome"]) for row in rows]


async def saved(db: Database) -> dict[str, int]:
    """How much intake has saved: tickets, jobs and outbox rows."""
    row = await db.fetch_dict(
        "SELECT (SELECT count(*) FROM tickets) AS tickets, (SELECT count(*) FROM jobs) AS jobs,"
        " (SELECT count(*) FROM outbox) AS outbox"
    )
    assert row is not None
    return dict(row)


def calls(provider: Simulation) -> dict[str, int]:
    """How many calls of each task the provider has seen."""
    counted: dict[str, dict[str, int]] = provider.counters.snapshot()["calls"]
    return {task: sum(outcomes.values()) for task, outcomes in counted.items()}
