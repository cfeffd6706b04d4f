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


@dataclass
class Found:
    """What a pass has met so far."""

    strays: int = 0
    met: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Poison:
    """What a pass works with; `names` as in the relay. All its times follow from how long it hides a message."""

    db: Database
    queues: Queues
    names: Mapping[str, str]
    hide_s: int = HIDE_S

    @property
    def longest_s(self) -> float:
        """Of a pass: a little later its first messages come back, and it would never end."""
        return 0.8 * self.hide_s

    @property
    def hold_s(self) -> float:
        """Until another one may begin if this one is cut off: its own time, and that of its last hidden messages."""
        return 3.0 * self.hide_s

    @property
    def settled_s(self) -> float:
        """A message put so long before a pass must have been met by it."""
        return 2.0 * self.hide_s

    async def run_pass(self, queue: str) -> None:
        """Count, and clean when the count or the time says so. Raises QueueUnavailable, DatabaseUnavailable."""
        name = f"{self.names[queue]}-poison"
        counts = await dead_letters.counts(self.db, queue, every_s=EVERY_S)
        if not counts.is_due and await self.queues.length(name) == counts.expected:
            return
        began_at = await dead_letters.hold(self.db, queue, hold_s=self.hold_s)
        if began_at is None:
            return
        found = Found()
        if not await self._meet_all(name, found):
            return  # its messages are seen again soon; the pass is still due
        again = await dead_letters.put_again(self.db, queue, began_at=began_at, settled_s=self.settled_s, met=found.met)
        for job_id in again:
            log.info("job %d: its dead letter had gone from the poison queue and is put again", job_id)
        hidden_s = self.hide_s + 1 if found.met or found.strays else 0  # clocks differ a little
        await dead_letters.done(self.db, queue, strays=found.strays, hidden_s=hidden_s)

    async def _meet_all(self, name: str, found: Found) -> bool:
        ends = time.monotonic() + self.longest_s
        while messages := await self.queues.take(name, hide_s=self.hide_s):
            for message in await self._not_to_stay(messages, found):
                await self.queues.delete(name, message.message_id, message.pop_receipt)
                if time.monotonic() > ends:
                    return False
            if time.monotonic() > ends:
                return False
        return True

    async def _not_to_stay(self, messages: list[Held], found: Found) -> list[Held]:
        """Of the messages taken those to be deleted; the others are noted in `found`."""
        read = {message.message_id: StoredCopy.read(message.text) for message in messages}
        copies = {message_id: copy for message_id, copy in read.items() if copy is not None}
        found.strays += len(read) - len(copies)
        for copy in copies.values():
            if copy.is_plain and await people.retry_by_message(self.db, copy.job_id, copy.delivery):
                log.info("job %d: queued (an operator put its dead letter back as plain text)", copy.job_id)
        kept = await dead_letters.judge(self.db, copies)
        found.met += kept.values()
        return [message for message in messages if message.message_id in copies.keys() - kept.keys()]
