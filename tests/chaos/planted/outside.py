"""Violations that people see from outside: their requests, decisions, events and poison messages."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.auditor import Fault
from tests.chaos.ledger import Answer, Hearing, Stray
from tests.chaos.planted.good import DONE, add_webhook
from tests.chaos.planted.world import NOW, UP, Plant, World, asked, at, poison
from tests.chaos.snapshot import Letter, Message, Run, Ticket


def lose_ticket(world: World) -> None:
    world.ledger.requests.append(asked(9, Answer(202, None, "T-500009", 9)))


def mix_up_ticket(world: World) -> None:
    world.tickets[500_003] = replace(world.tickets[500_003], customer_id="C-0002")


def double_ticket(world: World) -> None:
    world.add_ticket(4)
    world.jobs[4] = replace(world.jobs[4], announced_at=NOW)
    world.tickets[500_004] = replace(world.tickets[500_004], subject="Charged twice [q1]")
    world.ledger.requests.pop()


def save_refused_ticket(world: World) -> None:
    world.ledger.requests[2].answers[:] = [Answer(503, "queue_full")]


def save_unasked_ticket(world: World) -> None:
    world.ledger.requests.pop(2)


def forget_job(world: World) -> None:
    world.tickets[500_007] = Ticket(500_007, "C-0001", "Charged twice [q7]")
    world.ledger.requests.append(asked(7, Answer(None)))


def answer_500(world: World) -> None:
    world.ledger.requests.append(asked(8, Answer(500, "internal_error")))


def complain(world: World) -> None:
    world.ledger.complaints.append("GET /v1/jobs/1: 500")


def raise_the_dead(world: World) -> None:
    world.retry(2, 20)
    world.ledger.deeds.pop()
    world.jobs[2] = replace(world.jobs[2], announced_at=NOW)
    world.messages.pop(0)


def use_one_decision_twice(world: World) -> None:
    world.ledger.deeds[0] = replace(world.ledger.deeds[0], status=409)


def raise_the_dead_by_another_number(world: World) -> None:
    raise_the_dead(world)
    world.decide("put_back", 2, 19, delivery=4, ended_at=None, status=None)


def cancel_unasked(world: World) -> None:
    world.ledger.deeds = [deed for deed in world.ledger.deeds if deed.kind != "cancel"]


def forget_decision(world: World) -> None:
    world.decide("discard", 2, 30)


def approve_unasked(world: World) -> None:
    world.ledger.deeds = [deed for deed in world.ledger.deeds if deed.kind != "approve"]


def forget_event(world: World) -> None:
    del world.jobs[DONE]
    world.calls = [call for call in world.calls if call.job_id != DONE]


def make_event_up(world: World) -> None:
    add_webhook(world, 14, 30, "failed")


def lose_event(world: World) -> None:
    world.ledger.hearings.pop()


def repeat_event(world: World) -> None:
    world.ledger.hearings.append(Hearing(f"evt_{DONE}", 200))


def strand(world: World) -> None:
    world.add_ticket(4)
    world.outbox.append(Letter(4, "work", 7, NOW))


def forget_announced(world: World) -> None:
    world.add_ticket(4)
    world.jobs[4] = replace(world.jobs[4], announced_at=UP, unclaimed=1)


def forget_letter(world: World) -> None:
    world.add_ticket(4)
    world.outbox.append(Letter(4, "work", 1, UP))


def forget_lease(world: World) -> None:
    world.add_ticket(4)
    world.claim(4, 1)
    world.runs.append(Run(4, 1, 1, None))
    world.jobs[4] = replace(world.jobs[4], locked_until=at(960))


def drop_dead_letter(world: World) -> None:
    world.messages.pop(0)


def double_dead_letter(world: World) -> None:
    world.messages.append(world.messages[0])


def garble_dead_letter(world: World) -> None:
    world.messages[0] = poison(2, world.jobs[2].delivery, error={"code": "other", "message": "?"})


def leave_old_number(world: World) -> None:
    world.messages.append(poison(2, world.jobs[2].delivery - 1))


def leave_living(world: World) -> None:
    world.messages.append(poison(1, world.jobs[1].delivery))


def leave_unknown_job(world: World) -> None:
    world.messages.append(poison(77, 1))


def lose_stray(world: World) -> None:
    world.ledger.strays.append(Stray("call me", at(1)))


def find_stray(world: World) -> None:
    world.messages.append(Message("tickets-poison", "who wrote this?"))


PLANTED: list[tuple[Plant, Fault]] = [
    (lose_ticket, Fault.JOB_LOST),
    (mix_up_ticket, Fault.JOB_MIXED_UP),
    (double_ticket, Fault.JOB_DOUBLED),
    (save_refused_ticket, Fault.JOB_UNASKED),
    (save_unasked_ticket, Fault.JOB_UNASKED),
    (forget_job, Fault.TICKET_WITHOUT_JOB),
    (answer_500, Fault.ANSWER_UNEXPECTED),
    (complain, Fault.ANSWER_UNEXPECTED),
    (raise_the_dead, Fault.TERMINAL_LEFT),
    (use_one_decision_twice, Fault.TERMINAL_LEFT),
    (raise_the_dead_by_another_number, Fault.TERMINAL_LEFT),
    (cancel_unasked, Fault.DECISION_MADE_UP),
    (forget_decision, Fault.DECISION_LOST),
    (approve_unasked, Fault.DECISION_MADE_UP),
    (forget_event, Fault.EVENTS_MISCOUNTED),
    (make_event_up, Fault.EVENTS_MISCOUNTED),
    (lose_event, Fault.EVENT_LOST),
    (repeat_event, Fault.EVENT_REPEATED),
    (strand, Fault.STRANDED),
    (forget_announced, Fault.OVERDUE),
    (forget_letter, Fault.OVERDUE),
    (forget_lease, Fault.OVERDUE),
    (drop_dead_letter, Fault.DEAD_LETTER_MISSING),
    (double_dead_letter, Fault.DEAD_LETTER_DOUBLED),
    (garble_dead_letter, Fault.DEAD_LETTER_UNREADABLE),
    (leave_old_number, Fault.POISON_LEFT_OVER),
    (leave_living, Fault.POISON_LEFT_OVER),
    (leave_unknown_job, Fault.POISON_LEFT_OVER),
    (lose_stray, Fault.STRAY_LOST),
    (find_stray, Fault.STRAY_UNKNOWN),
]
