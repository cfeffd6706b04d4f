"""Violations inside: arrows, results, steps, history and calls."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.auditor import Fault
from tests.chaos.ledger import Sighting
from tests.chaos.planted.good import REPORT, STEPS
from tests.chaos.planted.world import ERROR, NOW, Plant, World, at, poison
from tests.chaos.snapshot import Call, Change, Step


def delete_row(world: World) -> None:
    world.changes.append(Change(NOW, "job_steps", 1, 2, {"name": "embed", "state": "succeeded"}, None))


def succeed_in_the_queue(world: World) -> None:
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
    world.steps.pop(2)


def leave_run_open(world: World) -> None:
    world.runs[0] = replace(world.runs[0], outcome=None)


def tell_another_outcome(world: World) -> None:
    world.runs[1] = replace(world.runs[1], outcome="failed")


def forget_run(world: World) -> None:
    world.runs.pop(0)
    world.calls.pop(0)


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


def swap_file(world: World) -> None:
    world.files[0] = replace(world.files[0], token="xyz")


def leave_step_pending(world: World) -> None:
    world.steps.append(Step(REPORT, "batch-2", "pending"))


PLANTED: list[tuple[Plant, Fault]] = [
    (delete_row, Fault.ROW_DELETED),
    (succeed_in_the_queue, Fault.ARROW_FORBIDDEN),
    (fail_in_the_queue, Fault.ARROW_FORBIDDEN),
    (keep_old_number, Fault.NUMBERS_WRONG),
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
    (swap_file, Fault.RESULT_MIXED_UP),
    (leave_step_pending, Fault.STEP_MISSING),
]
