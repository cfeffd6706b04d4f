"""One violation of each sort, to be planted in a world where all is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.chaos.auditor import Fault
from tests.chaos.ledger import Answer, Request, Sighting, Stray
from tests.chaos.planted.world import ERROR, NOW, STEPS, UP, World, at, poison
from tests.chaos.snapshot import Call, Change, Letter, Message, Run, Step, Ticket

Plant = Callable[[World], None]


def lose_ticket(world: World) -> None:
    world.ledger.requests.append(Request("[q9]", "C-0001", None, [Answer(202, None, "T-500009", 9)]))


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
    world.ledger.requests.pop()


def forget_job(world: World) -> None:
    world.tickets[500_007] = Ticket(500_007, "C-0001", "Charged twice [q7]")
    world.ledger.requests.append(Request("[q7]", "C-0001", None, [Answer(None)]))


def answer_500(world: World) -> None:
    world.ledger.requests.append(Request("[q8]", "C-0001", None, [Answer(500, "internal_error")]))


def complain(world: World) -> None:
    world.ledger.complaints.append("GET /v1/jobs/1: 500")


def delete_row(world: World) -> None:
    world.changes.append(Change(NOW, "job_steps", 1, 2, {"name": "embed", "state": "succeeded"}, None))


def go_back_to_queue_without_running(world: World) -> None:
    world.add_ticket(4)
    world.move(4, 1, state="succeeded", result={"draft_reply": "[q4]", "team": None, "priority": None})
    world.tickets[500_004] = replace(world.tickets[500_004], draft_reply="[q4]", is_embedded=True)
    world.steps += [Step(4, name, "succeeded") for name in STEPS]


def fail_in_the_queue(world: World) -> None:
    world.add_ticket(4)
    world.move(4, 1, state="failed", last_error=ERROR)


def keep_old_number(world: World) -> None:
    world.retry(2, 20)
    last = world.changes[-1]
    world.changes[-1] = replace(last, after={**(last.after or {}), "delivery": 4})
    world.jobs[2] = replace(world.jobs[2], announced_at=NOW)
    world.messages.pop(0)


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
    world.ledger.deeds.pop()


def forget_decision(world: World) -> None:
    world.decide("discard", 2, 30)


def overwrite_result(world: World) -> None:
    row = {"state": "succeeded", "run": 2, "delivery": 2, "attempts": 2, "result": {"team": "login"}}
    world.changes.append(Change(at(30), "jobs", 1, 2, row, row | {"result": world.jobs[1].result}))


def overwrite_ticket(world: World) -> None:
    row = {"team": "billing", "priority": 1, "draft_reply": "a", "embedding_version": "e"}
    world.changes.append(Change(at(30), "tickets", 500_001, None, row, row | {"team": "login"}))


def publish_something_else(world: World) -> None:
    world.tickets[500_001] = replace(world.tickets[500_001], team="login")


def give_the_neighbours_answer(world: World) -> None:
    reply = "About Charged twice [q2]"
    world.tickets[500_001] = replace(world.tickets[500_001], draft_reply=reply)
    result = {**(world.jobs[1].result or {}), "draft_reply": reply}
    world.jobs[1] = replace(world.jobs[1], result=result)
    world.ledger.sightings.clear()


def show_another_result(world: World) -> None:
    world.ledger.sightings.append(Sighting(1, "succeeded", {"team": "login"}))


def save_step_twice(world: World) -> None:
    row = {"name": "embed", "state": "succeeded", "started_at": "a", "finished_at": "b", "output": None}
    world.changes.append(Change(at(30), "job_steps", 1, 2, row, row | {"output": {"a": 2}}))


def skip_step(world: World) -> None:
    world.steps.pop()


def leave_run_open(world: World) -> None:
    world.runs[0] = replace(world.runs[0], outcome=None)


def forget_run(world: World) -> None:
    world.runs.pop(0)
    world.calls.pop(0)


def tell_another_outcome(world: World) -> None:
    world.runs[1] = replace(world.runs[1], outcome="failed")


def miscount_attempts(world: World) -> None:
    world.runs[3] = replace(world.runs[3], attempt=3)


def bury_too_early(world: World) -> None:
    world.jobs[2] = replace(world.jobs[2], attempts=1)
    world.messages[0] = poison(2, world.jobs[2].delivery, attempts=1)


def rewrite_history(world: World) -> None:
    row = {"outcome": "retry", "run": 1}
    world.changes.append(Change(at(30), "job_runs", 2, 4, row, row | {"outcome": "lost"}))


def call_twice_in_a_run(world: World) -> None:
    world.calls[0] = replace(world.calls[0], times=2)


def call_after_save(world: World) -> None:
    for place, change in enumerate(world.changes):
        if change.table == "job_steps" and (change.after or {})["name"] == "embed":
            world.changes[place] = replace(change, run=1)
    world.calls.append(Call(1, 1, "embed", "200"))


def throw_answer_away(world: World) -> None:
    world.runs[0] = replace(world.runs[0], outcome="quota")
    world.runs[1] = replace(world.runs[1], attempt=1)


def call_from_nowhere(world: World) -> None:
    world.calls.append(Call(1, 7, "embed", "503"))


def make_answer_up(world: World) -> None:
    world.calls = [call for call in world.calls if (call.job_id, call.step) != (1, "embed")]


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
    (lose_ticket, Fault.TICKET_LOST),
    (mix_up_ticket, Fault.TICKET_MIXED_UP),
    (double_ticket, Fault.TICKET_DOUBLED),
    (save_refused_ticket, Fault.TICKET_UNASKED),
    (save_unasked_ticket, Fault.TICKET_UNASKED),
    (forget_job, Fault.TICKET_WITHOUT_JOB),
    (answer_500, Fault.ANSWER_UNEXPECTED),
    (complain, Fault.ANSWER_UNEXPECTED),
    (delete_row, Fault.ROW_DELETED),
    (go_back_to_queue_without_running, Fault.ARROW_FORBIDDEN),
    (fail_in_the_queue, Fault.ARROW_FORBIDDEN),
    (keep_old_number, Fault.NUMBERS_WRONG),
    (raise_the_dead, Fault.TERMINAL_LEFT),
    (use_one_decision_twice, Fault.TERMINAL_LEFT),
    (raise_the_dead_by_another_number, Fault.TERMINAL_LEFT),
    (cancel_unasked, Fault.DECISION_MADE_UP),
    (forget_decision, Fault.DECISION_LOST),
    (overwrite_result, Fault.RESULT_OVERWRITTEN),
    (overwrite_ticket, Fault.RESULT_OVERWRITTEN),
    (publish_something_else, Fault.RESULT_MIXED_UP),
    (give_the_neighbours_answer, Fault.RESULT_MIXED_UP),
    (show_another_result, Fault.RESULT_TAKEN_BACK),
    (save_step_twice, Fault.STEP_SAVED_TWICE),
    (skip_step, Fault.STEP_MISSING),
    (leave_run_open, Fault.HISTORY_WRONG),
    (tell_another_outcome, Fault.HISTORY_WRONG),
    (forget_run, Fault.HISTORY_WRONG),
    (miscount_attempts, Fault.HISTORY_WRONG),
    (bury_too_early, Fault.HISTORY_WRONG),
    (rewrite_history, Fault.HISTORY_REWRITTEN),
    (call_twice_in_a_run, Fault.CALL_REPEATED),
    (call_after_save, Fault.CALL_AFTER_SAVE),
    (throw_answer_away, Fault.ANSWER_THROWN_AWAY),
    (call_from_nowhere, Fault.CALL_UNKNOWN),
    (make_answer_up, Fault.STEP_MADE_UP),
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
