"""Reads the snapshot: the database, the provider's counters and every queue, when the hosts have been stopped."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import httpx
import psycopg
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueClient, QueueServiceClient
from psycopg.rows import dict_row

from tests.chaos import witness
from tests.chaos.calm import Calmed
from tests.chaos.ledger import Ledger, now
from tests.chaos.snapshot import Call, File, Job, Letter, Message, Run, Snapshot, Step, Ticket

T = TypeVar("T")

HIDDEN_BY_PASSES_S = 12.0  # a cleaning pass hides poison messages for 10 s
UNTIL_READ_S = 600  # nobody else reads these queues any more

TICKETS = """
SELECT ticket_id, customer_id, subject, team, priority, draft_reply, embedding IS NOT NULL AS is_embedded FROM tickets
"""


def read_snapshot(
    database_url: str, storage: str, provider_url: str, queues: tuple[str, ...], ledger: Ledger, calm: Calmed
) -> Snapshot:
    """Everything as it stands; takes the messages off the queues."""
    taken_at = now()
    messages, hidden = _read_queues(storage, queues)
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
        jobs = _rows(connection, Job, "SELECT * FROM jobs")
        tickets = _rows(connection, Ticket, TICKETS)
        return Snapshot(
            taken_at=taken_at,
            up_since=calm.up_since,
            is_watched=calm.is_watched,
            mirror_is_due=calm.mirror_is_due,
            jobs={job.job_id: job for job in jobs},
            tickets={ticket.ticket_id: ticket for ticket in tickets},
            runs=_rows(connection, Run, "SELECT * FROM job_runs"),
            steps=_rows(connection, Step, "SELECT * FROM job_steps"),
            files=_rows(connection, File, "SELECT job_id, name, token FROM artifacts"),
            outbox=_rows(connection, Letter, "SELECT * FROM outbox"),
            changes=witness.seen(connection),
            calls=tuple(calls_of(httpx.get(f"{provider_url}/simulator/counters", timeout=30).json()["marks"])),
            messages=messages,
            hidden=hidden,
            ledger=ledger,
        )


def calls_of(marks: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Iterator[Call]:
    """The provider's marks (`job-7/run-1/classify`) as calls; a mark that names no run is job 0's."""
    for mark, tasks in marks.items():
        job, _, rest = mark.removeprefix("job-").partition("/run-")
        run, _, step = rest.partition("/")
        is_ours = job.isdecimal() and run.isdecimal()
        for task, outcomes in tasks.items():
            for outcome, times in outcomes.items():
                yield Call(int(job), int(run), step, outcome, times) if is_ours else Call(0, 0, task, outcome, times)


def _rows(connection: psycopg.Connection[dict[str, Any]], kind: type[T], query: str) -> tuple[T, ...]:
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type] # T is one of the snapshot's dataclasses
    rows = connection.execute(query.encode()).fetchall()
    return tuple(kind(**{name: value for name, value in row.items() if name in names}) for row in rows)


def _read_queues(storage: str, queues: tuple[str, ...]) -> tuple[tuple[Message, ...], Counter[str]]:
    """All messages of all queues, and how many of each stayed hidden: on a poison queue for longer than a pass hides
    them, on a work queue because a killed host had them."""
    messages: list[Message] = []
    hidden: Counter[str] = Counter()
    with QueueServiceClient.from_connection_string(storage) as service:
        give_up_at = time.monotonic() + HIDDEN_BY_PASSES_S
        for name in queues:
            patience_ends = give_up_at if name.endswith("-poison") else 0.0
            read, left = _read_queue(service.get_queue_client(name), patience_ends)
            messages += [Message(name, text) for text in read]
            hidden[name] = left
    return tuple(messages), hidden


def _read_queue(queue: QueueClient, give_up_at: float) -> tuple[list[str], int]:
    texts: list[str] = []
    try:
        while True:
            texts += [str(message.content) for message in queue.receive_messages(visibility_timeout=UNTIL_READ_S)]
            left = (queue.get_queue_properties().approximate_message_count or 0) - len(texts)
            if left <= 0 or time.monotonic() > give_up_at:
                return texts, max(0, left)
            time.sleep(0.25)
    except ResourceNotFoundError:
        return texts, 0
