"""The poison queue mirrors the rows: one readable message a dead letter, plus messages that are no job at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.snapshot import Job, Message, Snapshot

KEYS = frozenset(
    {"job_id", "delivery", "kind", "ticket_id", "attempts", "error", "dead_lettered_at", "request_id"}  # the contract's
)
POISON = "-poison"


def check_poison(snapshot: Snapshot) -> Iterator[Violation]:
    """What lies on the poison queue; how that fits to the rows only when it must have caught up."""
    copies: dict[int, list[Message]] = defaultdict(list)
    sent = {stray.text for stray in snapshot.ledger.strays}
    for message in snapshot.messages:
        if not message.queue.endswith(POISON):
            continue
        job_id = message.job_id
        if job_id is not None:
            copies[job_id].append(message)
        elif message.text not in sent:
            yield Violation(Fault.STRAY_UNKNOWN, message.queue, repr(message.text[:80]))
    yield from _check_strays(snapshot)
    if not snapshot.mirror_is_due:
        return
    for job in snapshot.jobs.values():
        yield from _check_job(job, copies.pop(job.job_id, []))
    for job_id, messages in copies.items():
        yield Violation(Fault.POISON_LEFT_OVER, f"job {job_id}", f"no such job: {messages[0].content}")


def _check_job(job: Job, messages: list[Message]) -> Iterator[Violation]:
    subject = f"job {job.job_id}"
    contents = [message.content or {} for message in messages]
    current = [
        message.content or {}
        for message in messages
        if job.state == "dead_letter" and message.queue == f"{job.queue}{POISON}"
        if (message.content or {}).get("delivery") == job.delivery
    ]
    if len(current) < len(contents):
        shown = f"the job is {job.state} with delivery {job.delivery}, on the queue: {contents}"
        yield Violation(Fault.POISON_LEFT_OVER, subject, shown)
    if job.state != "dead_letter":
        return
    if not current:
        yield Violation(Fault.DEAD_LETTER_MISSING, subject, f"delivery {job.delivery}")
    elif len(current) > 1:
        yield Violation(Fault.DEAD_LETTER_DOUBLED, subject, f"{len(current)} messages with delivery {job.delivery}")
    elif not _tells(current[0], job):
        yield Violation(Fault.DEAD_LETTER_UNREADABLE, subject, f"{current[0]}, row: {job.attempts} {job.last_error}")


def _tells(content: dict[str, Any], job: Job) -> bool:
    error, known = content.get("error") or {}, job.last_error or {}
    return (
        content.keys() >= KEYS
        and content["attempts"] == job.attempts
        and content["kind"] == job.kind
        and content["ticket_id"] == (f"T-{job.ticket_id}" if job.ticket_id else None)
        and (error.get("code"), error.get("message")) == (known.get("code"), known.get("message"))
    )


def _check_strays(snapshot: Snapshot) -> Iterator[Violation]:
    """A stray is somewhere, unless the storage was killed after it came, or it may be among the hidden ones."""
    if any(snapshot.hidden.values()):
        return
    texts = {message.text for message in snapshot.messages}
    for stray in snapshot.ledger.strays:
        was_cut = any(killed_at > stray.put_at for killed_at in snapshot.ledger.storage_killed_at)
        if stray.text not in texts and not was_cut:
            yield Violation(Fault.STRAY_LOST, repr(stray.text[:60]), f"put at {stray.put_at:%H:%M:%S}")
