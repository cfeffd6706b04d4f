"""One saved result a step, one final result a job, each of the right ticket, and none ever changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.chaos.auditor.intake import token_in
from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.snapshot import Change, Job, Snapshot

STEPS = {
    "ticket": frozenset({"classify", "draft_reply", "embed"}),
    "support_report": frozenset({"collect", "draw"}),
    "webhook": frozenset({"deliver"}),
}
TICKET_RESULT = ("team", "priority", "draft_reply", "embedding_version")


def check_results(snapshot: Snapshot) -> Iterator[Violation]:
    """Results and steps, as they are and as they came to be."""
    for change in snapshot.changes:
        yield from _check_change(change)
    steps: dict[int, dict[str, str]] = defaultdict(dict)
    for step in snapshot.steps:
        steps[step.job_id][step.name] = step.state
    files = {(file.job_id, file.name): file.token for file in snapshot.files}
    for job in snapshot.jobs.values():
        if job.state == "succeeded":
            yield from _check_steps(job, steps[job.job_id])
            yield from _check_ticket(snapshot, job)
            yield from _check_report(job, files.get((job.job_id, "report.html")))
    yield from _check_sightings(snapshot)


def _check_change(change: Change) -> Iterator[Violation]:
    before, after = change.before or {}, change.after or {}
    subject = f"{change.table.removesuffix('s')} {change.number}"
    at = f"at {change.at:%H:%M:%S.%f}"
    match change.table:
        case "jobs" if after and before.get("result") not in (None, after.get("result")):
            yield Violation(Fault.RESULT_OVERWRITTEN, subject, f"{before['result']} → {after['result']} {at}")
        case "tickets" if after and any(before.get(name) not in (None, after.get(name)) for name in TICKET_RESULT):
            shown = [(name, before.get(name), after.get(name)) for name in TICKET_RESULT]
            yield Violation(Fault.RESULT_OVERWRITTEN, subject, f"{shown} {at}")
        case "job_steps" if after and before.get("state") == "succeeded" and _is_saved_again(before, after):
            yield Violation(Fault.STEP_SAVED_TWICE, f"job {change.number}", f"{before['name']} {at}")
        case "job_runs" if after and before.get("outcome") is not None and before != after:
            yield Violation(Fault.HISTORY_REWRITTEN, f"job {change.number}", f"{before} → {after}")


def _is_saved_again(before: Any, after: Any) -> bool:
    """A finished job drops what its steps handed on; nothing else may change."""
    kept = ("state", "started_at", "finished_at")
    return after["output"] not in (None, before["output"]) or any(before[name] != after[name] for name in kept)


def _check_steps(job: Job, steps: dict[str, str]) -> Iterator[Violation]:
    missing = {name for name in STEPS[job.kind] | steps.keys() if steps.get(name) != "succeeded"}
    if missing:
        yield Violation(Fault.STEP_MISSING, f"job {job.job_id}", ", ".join(sorted(missing)))


def _check_report(job: Job, token: str | None) -> Iterator[Violation]:
    """The address in the result is that of the file that is there."""
    url = (job.result or {}).get("artifact_url")
    if job.kind == "support_report" and (token is None or not str(url).endswith(f"token={token}")):
        yield Violation(Fault.RESULT_MIXED_UP, f"job {job.job_id}", f"the result names {url}, the file has {token}")


def _check_ticket(snapshot: Snapshot, job: Job) -> Iterator[Violation]:
    ticket = snapshot.tickets.get(job.ticket_id or 0)
    if ticket is None:
        return
    result = job.result or {}
    published = {"team": ticket.team, "priority": ticket.priority, "draft_reply": ticket.draft_reply}
    if published != {name: result.get(name) for name in published} or not ticket.is_embedded:
        yield Violation(Fault.RESULT_MIXED_UP, f"job {job.job_id}", f"job says {result}, ticket says {published}")
    elif token_in(ticket.subject) != token_in(str(result.get("draft_reply"))):
        yield Violation(
            Fault.RESULT_MIXED_UP, f"job {job.job_id}", f"{ticket.subject!r} got {result.get('draft_reply')!r}"
        )


def _check_sightings(snapshot: Snapshot) -> Iterator[Violation]:
    for seen in snapshot.ledger.sightings:
        job = snapshot.jobs.get(seen.job_id)
        if seen.state == "succeeded" and (job is None or (job.state, job.result) != (seen.state, seen.result)):
            now = f"{job.state} {job.result}" if job else "gone"
            yield Violation(Fault.RESULT_TAKEN_BACK, f"job {seen.job_id}", f"shown {seen.result}, now {now}")
