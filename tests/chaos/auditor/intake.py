"""Intake's promises: nothing accepted is lost, nothing refused is saved, nothing with a key is saved twice."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.ledger import Answer, Request
from tests.chaos.snapshot import Snapshot, Ticket

TOKEN = re.compile(r"\[q\d+\]")
KNOWN_STATUSES = frozenset({202, 429, 503})


def token_of(subject: str) -> str | None:
    """The mark that its request put on a ticket."""
    found = TOKEN.search(subject)
    return found[0] if found else None


def check_intake(snapshot: Snapshot) -> Iterator[Violation]:
    """Requests and answers against tickets and jobs."""
    tickets: dict[str | None, list[Ticket]] = defaultdict(list)
    for ticket in snapshot.tickets.values():
        tickets[token_of(ticket.subject)].append(ticket)
    for request in snapshot.ledger.requests:
        yield from _check_request(snapshot, request, tickets.pop(request.token, []))
    for token, unasked in tickets.items():
        yield Violation(Fault.TICKET_UNASKED, str(token), _names(unasked))
    for complaint in snapshot.ledger.complaints:
        yield Violation(Fault.ANSWER_UNEXPECTED, "a reader or an operator", complaint)
    jobs = Counter(job.ticket_id for job in snapshot.jobs.values())
    for number in snapshot.tickets:
        if jobs[number] != 1:
            yield Violation(Fault.TICKET_WITHOUT_JOB, f"ticket {number}", f"{jobs[number]} jobs")


def _check_request(snapshot: Snapshot, request: Request, tickets: list[Ticket]) -> Iterator[Violation]:
    promised = {answer.ticket_id for answer in request.answers if answer.status == 202}
    if len(tickets) > 1 or len(promised) > 1:
        yield Violation(
            Fault.TICKET_DOUBLED, request.token, f"{_names(tickets)}, promised {sorted(map(str, promised))}"
        )
    if tickets and not request.may_exist:
        yield Violation(Fault.TICKET_UNASKED, request.token, f"{_names(tickets)}, answers {_told(request.answers)}")
    for answer in request.answers:
        if answer.status == 202:
            yield from _check_promise(snapshot, request, answer)
        elif answer.status not in KNOWN_STATUSES and not answer.leaves_doubt:
            yield Violation(Fault.ANSWER_UNEXPECTED, request.token, f"{answer.status} {answer.code}")


def _check_promise(snapshot: Snapshot, request: Request, answer: Answer) -> Iterator[Violation]:
    number = int((answer.ticket_id or "T-0").removeprefix("T-"))
    ticket, job = snapshot.tickets.get(number), snapshot.jobs.get(answer.job_id or 0)
    if ticket is None or job is None:
        yield Violation(Fault.TICKET_LOST, request.token, f"promised {answer.ticket_id} and job {answer.job_id}")
    elif (token_of(ticket.subject), ticket.customer_id, job.ticket_id) != (request.token, request.customer_id, number):
        yield Violation(
            Fault.TICKET_MIXED_UP,
            request.token,
            f"promised {answer.ticket_id}: {ticket.subject!r} of {ticket.customer_id}, job's ticket {job.ticket_id}",
        )


def _names(tickets: list[Ticket]) -> str:
    return "saved " + (", ".join(f"T-{ticket.ticket_id}" for ticket in tickets) or "none")


def _told(answers: list[Answer]) -> str:
    return ", ".join(f"{answer.status} {answer.code or ''}".strip() for answer in answers) or "none"
