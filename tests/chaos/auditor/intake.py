"""Intake's promises: nothing accepted is lost, nothing refused is saved, nothing with a key is saved twice."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.ledger import Answer, Request
from tests.chaos.snapshot import Job, Snapshot

TOKEN = re.compile(r"\[q\d+\]")
KNOWN_STATUSES = frozenset({202, 429, 503})


def token_in(text: object) -> str | None:
    """The mark that a request put on its ticket or task."""
    found = TOKEN.search(str(text))
    return found[0] if found else None


def check_intake(snapshot: Snapshot) -> Iterator[Violation]:
    """Requests and answers against tickets and jobs."""
    jobs: dict[str | None, list[Job]] = defaultdict(list)
    for job in snapshot.jobs.values():
        if job.kind != "webhook":
            jobs[_token_of(snapshot, job)].append(job)
    for request in snapshot.ledger.requests:
        yield from _check_request(snapshot, request, jobs.pop(request.token, []))
    for token, unasked in jobs.items():
        yield Violation(Fault.JOB_UNASKED, str(token), _names(unasked))
    for complaint in snapshot.ledger.complaints:
        yield Violation(Fault.ANSWER_UNEXPECTED, "a reader or an operator", complaint)
    worked_on = Counter(job.ticket_id for job in snapshot.jobs.values())
    for number in snapshot.tickets:
        if worked_on[number] != 1:
            yield Violation(Fault.TICKET_WITHOUT_JOB, f"ticket {number}", f"{worked_on[number]} jobs")


def _token_of(snapshot: Snapshot, job: Job) -> str | None:
    ticket = snapshot.tickets.get(job.ticket_id or 0)
    return token_in(ticket.subject if ticket else job.input.get("task"))


def _check_request(snapshot: Snapshot, request: Request, jobs: list[Job]) -> Iterator[Violation]:
    promised = {answer.job_id for answer in request.answers if answer.status == 202}
    if len(jobs) > 1 or len(promised) > 1:
        yield Violation(Fault.JOB_DOUBLED, request.token, f"{_names(jobs)}, promised {sorted(map(str, promised))}")
    if jobs and not request.may_exist:
        yield Violation(Fault.JOB_UNASKED, request.token, f"{_names(jobs)}, answers {_told(request.answers)}")
    for answer in request.answers:
        if answer.status == 202:
            yield from _check_promise(snapshot, request, answer)
        elif answer.status not in KNOWN_STATUSES and not answer.leaves_doubt:
            yield Violation(Fault.ANSWER_UNEXPECTED, request.token, f"{answer.status} {answer.code}")


def _check_promise(snapshot: Snapshot, request: Request, answer: Answer) -> Iterator[Violation]:
    job = snapshot.jobs.get(answer.job_id or 0)
    number = int(answer.ticket_id.removeprefix("T-")) if answer.ticket_id else None
    ticket = snapshot.tickets.get(number or 0)
    if job is None or (number and ticket is None):
        yield Violation(Fault.JOB_LOST, request.token, f"promised job {answer.job_id}, {answer.ticket_id}")
        return
    customer = ticket.customer_id if ticket else None
    told = (_token_of(snapshot, job), job.ticket_id, customer)
    if told != (request.token, number, request.body.get("customer_id")):
        yield Violation(Fault.JOB_MIXED_UP, request.token, f"promised job {answer.job_id}, which is {told}")


def _names(jobs: list[Job]) -> str:
    return "saved " + (", ".join(f"job {job.job_id}" for job in jobs) or "none")


def _told(answers: list[Answer]) -> str:
    return ", ".join(f"{answer.status} {answer.code or ''}".strip() for answer in answers) or "none"
