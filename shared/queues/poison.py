"""The poison queue kept in step with the rows: one readable message a dead letter, and strays left alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.db import Database
from shared.jobs import dead_letters, people
from shared.log import logger
from shared.queues.messages import StoredCopy
from shared.queues.storage import Held, Queues

log = logger("poison")

EVERY_S = 600.0  # a full pass at least this often: what an operator did leaves the count as it was
HIDE_S = 10  # how long a pass may hide a message from people
SETTLED_S = 20.0  # twice the hiding: a message put before that must have been met
HOLD_S = 60.0
LONGEST_S = 8.0  # of a pass: then its first messages come back, and it would never end


@dataclass
class Found:
    """What a pass has met so far."""

    strays: int = 0
    met: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Poison:
    """What a pass works with; `names` as in the relay."""

    db: Database
    queues: Queues
    names: Mapping[str, str]

    async def run_pass(self, queue: str) -> None:
        """Count, and clean when the count or the time says so. Raises QueueUnavailable, DatabaseUnavailable."""
        name = f"{self.names[queue]}-poison"
        counts = await dead_letters.counts(self.db, queue, every_s=EVERY_S)
        if not counts.is_due and await self.queues.length(name) == counts.expected:
            return
        began_at = await dead_letters.hold(self.db, queue, hold_s=HOLD_S)
        if began_at is None:
            return
        found = Found()
        if not await self._meet_all(name, found):
            return  # its messages are seen again in 10 s; the next pass counts anew
        again = await dead_letters.put_again(self.db, queue, began_at=began_at, settled_s=SETTLED_S, met=found.met)
        for job_id in again:
            log.info("job %d: its dead letter had gone from the poison queue and is put again", job_id)
        await dead_letters.done(self.db, queue, strays=found.strays)

    async def _meet_all(self, name: str, found: Found) -> bool:
        ends = time.monotonic() + LONGEST_S
        while messages := await self.queues.take(name, hide_s=HIDE_S):
            for message in messages:
                if not await self._is_to_stay(message, found):
                    await self.queues.delete(name, message.message_id, message.pop_receipt)
            if time.monotonic() > ends:
                return False
        return True

    async def _is_to_stay(self, message: Held, found: Found) -> bool:
        copy = StoredCopy.read(message.text)
        if copy is None:
            found.strays += 1
            return True
        if copy.is_plain and await people.retry_by_message(self.db, copy.job_id, copy.delivery):
            log.info("job %d: queued (an operator put its dead letter back as plain text)", copy.job_id)
            return False
        if await dead_letters.judge(self.db, copy.job_id, copy.delivery, message.message_id):
            found.met.append(copy.job_id)
            return True
        return False
