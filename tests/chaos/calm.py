"""After the chaos: wait until everything has come to an end, but no longer than the contract allows it to take."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

import httpx
import psycopg
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue.aio import QueueServiceClient
from psycopg.rows import dict_row

from tests.chaos.ledger import now
from tests.chaos.snapshot import AT_REST, Message
from tests.chaos.stage import POISON_QUEUES

LOOK_EVERY_S = 0.5
MIRROR_S = 60.0  # the contract's: so long after the last dead letter came or went, the queue mirrors the rows
ALL_SHOWN = 32  # what a look at a queue shows

UNFINISHED = "SELECT job_id FROM jobs WHERE state <> ALL(%s) ORDER BY job_id"
DEAD_LETTERS = "SELECT job_id, delivery FROM jobs WHERE state = 'dead_letter'"
LAST_MOVE = """
SELECT max(at) AS at FROM chaos_witness
WHERE place = 'jobs' AND 'dead_letter' IN (before->>'state', after->>'state')
"""


@dataclass(frozen=True)
class Calmed:
    """How the calm went: see Snapshot."""

    up_since: datetime
    is_watched: bool
    mirror_is_due: bool


@dataclass
class Calm:
    """`is_watched`: somebody looks at unfinished jobs meanwhile, so that the app has requests to work on."""

    database_url: str
    storage: QueueServiceClient
    clients: tuple[httpx.AsyncClient, ...]
    rng: Random
    is_watched: bool

    async def settle(self, *, ends_within_s: float, mirror_within_s: float) -> Calmed:
        """Wait for the jobs, then for the poison queue; what takes longer is for the auditor to judge."""
        up_since = now()
        await self._wait_for_ends(ends_within_s)
        return Calmed(up_since, self.is_watched, await self._wait_for_mirror(up_since, mirror_within_s))

    async def _wait_for_ends(self, within_s: float) -> None:
        ends = time.monotonic() + within_s
        while time.monotonic() < ends:
            unfinished = await self._query(UNFINISHED, [list(AT_REST)])
            if not unfinished:
                return
            if self.is_watched:
                with suppress(httpx.HTTPError):
                    job_id = self.rng.choice(unfinished)["job_id"]
                    await self.rng.choice(self.clients).get(f"/v1/jobs/{job_id}")
            await asyncio.sleep(LOOK_EVERY_S)

    async def _wait_for_mirror(self, up_since: datetime, within_s: float) -> bool:
        """Wait until the contract's time is up, or the given one; whether the queue is, or has to be, in step."""
        ends = time.monotonic() + within_s
        while True:
            [last] = await self._query(LAST_MOVE)
            quiet_s = (now() - max(up_since, last["at"] or up_since)).total_seconds()
            if quiet_s > MIRROR_S:
                return True
            if time.monotonic() > ends:
                return await self._is_in_step()
            await asyncio.sleep(LOOK_EVERY_S)

    async def _is_in_step(self) -> bool:
        rows = {(row["job_id"], row["delivery"]) for row in await self._query(DEAD_LETTERS)}
        shown = [await self._peek(queue) for queue in POISON_QUEUES]
        messages = [message for queue in shown for message in queue if message.job_id is not None]
        numbers = {(message.job_id, (message.content or {}).get("delivery")) for message in messages}
        is_all = all(len(queue) < ALL_SHOWN for queue in shown)
        return is_all and len(messages) == len(rows) and numbers == rows

    async def _peek(self, queue: str) -> list[Message]:
        try:
            shown = await self.storage.get_queue_client(queue).peek_messages(max_messages=ALL_SHOWN)
        except ResourceNotFoundError:
            return []
        return [Message(queue, str(message.content)) for message in shown]

    async def _query(self, query: str, parameters: list[Any] | None = None) -> list[dict[str, Any]]:
        connection = await psycopg.AsyncConnection.connect(self.database_url, autocommit=True, row_factory=dict_row)
        async with connection:
            return await (await connection.execute(query.encode(), parameters)).fetchall()
