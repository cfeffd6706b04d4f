"""Webhooks: one event for each arrow that a caller wants to hear of, taken at least once, told no oftener than run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.snapshot import Snapshot

TOLD = frozenset({"succeeded", "failed", "dead_letter", "cancelled", "waiting_for_approval"})

EventKey = tuple[int, str]


def check_events(snapshot: Snapshot) -> Iterator[Violation]:
    """The webhooks' jobs against the arrows that made them, and against what the receiver heard."""
    yield from _check_count(snapshot)
    told = Counter(hearing.event_id for hearing in snapshot.ledger.hearings)
    taken = {hearing.event_id for hearing in snapshot.ledger.hearings if hearing.status < 300}
    for job in snapshot.jobs.values():
        event_id = f"evt_{job.job_id}"
        if job.kind != "webhook":
            continue
        if job.state == "succeeded" and event_id not in taken:
            yield Violation(Fault.EVENT_LOST, f"job {job.job_id}", f"told {told[event_id]} times")
        if told[event_id] > job.run:
            yield Violation(Fault.EVENT_REPEATED, f"job {job.job_id}", f"told {told[event_id]} times in {job.run} runs")


def _check_count(snapshot: Snapshot) -> Iterator[Violation]:
    due: Counter[EventKey] = Counter(
        (change.number, change.after["state"])
        for change in snapshot.changes_of("jobs")
        if change.before and change.after and change.after.get("webhook_url")
        if change.after["state"] in TOLD and change.after["state"] != change.before["state"]
    )
    made: Counter[EventKey] = Counter(
        (job.about_job_id or 0, str(job.input.get("type")).removeprefix("job."))
        for job in snapshot.jobs.values()
        if job.kind == "webhook"
    )
    for job_id, state in sorted(due.keys() | made.keys()):
        key = (job_id, state)
        if due[key] != made[key]:
            yield Violation(
                Fault.EVENTS_MISCOUNTED, f"job {job_id}", f"{state} {due[key]} times, {made[key]} events about it"
            )
