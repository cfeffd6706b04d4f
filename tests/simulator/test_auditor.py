"""The auditor of the chaos suite is not blind: it finds each sort of violation where one was planted, and no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.chaos.auditor import Fault, audit
from tests.chaos.auditor.calls import repeated
from tests.chaos.ledger import Answer
from tests.chaos.planted import inside, outside
from tests.chaos.planted.good import good_world
from tests.chaos.planted.outside import (
    drop_dead_letter,
    forget_lease,
    leave_living,
    lose_stray,
    raise_the_dead,
)
from tests.chaos.planted.world import NOW, Plant, World, asked, at
from tests.chaos.snapshot import Change, Letter

PLANTED = [*outside.PLANTED, *inside.PLANTED]


def found(world: World) -> set[Fault]:
    return {violation.fault for violation in audit(world.snapshot())}


@pytest.mark.parametrize(("plant", "fault"), PLANTED, ids=[plant.__name__ for plant, _ in PLANTED])
def test_audit_when_a_violation_is_planted_then_it_is_found_and_no_other(plant: Plant, fault: Fault) -> None:
    world = good_world()
    plant(world)
    assert found(world) == {fault}


def test_planted_violations_then_are_of_every_sort() -> None:
    assert {fault for _, fault in PLANTED} == set(Fault)


def test_audit_when_all_is_well_then_finds_nothing() -> None:
    assert audit(good_world().snapshot()) == []


def undo_success(world: World) -> None:
    row = {"state": "succeeded", "run": 2, "delivery": 2, "attempts": 2, "result": world.jobs[1].result}
    changes = {"state": "queued", "delivery": 3}
    world.changes.append(Change(at(30), "jobs", 1, 2, row, row | changes))


def test_audit_when_a_success_is_undone_then_is_found_twice() -> None:
    world = good_world()
    undo_success(world)
    assert found(world) == {Fault.ARROW_FORBIDDEN, Fault.TERMINAL_LEFT}


def test_audit_when_a_dead_letter_lies_on_another_queue_then_is_missing_on_its_own() -> None:
    world = good_world()
    world.messages[0] = replace(world.messages[0], queue="reports-poison")
    assert found(world) == {Fault.POISON_LEFT_OVER, Fault.DEAD_LETTER_MISSING}


def save_after_doubt(world: World) -> None:
    world.ledger.requests[0].answers[:0] = [Answer(None), Answer(503), Answer(503, "database_unavailable")]


def save_in_doubt(world: World) -> None:
    world.ledger.requests[2].answers[:] = [Answer(503, "database_unavailable")]


def refuse(world: World) -> None:
    world.ledger.requests.append(asked(9, Answer(429, "rate_limited"), Answer(None), key="k"))


def retry_by_unknown_answer(world: World) -> None:
    world.ledger.deeds[0] = replace(world.ledger.deeds[0], ended_at=None, status=None)


def retry_by_message(world: World) -> None:
    raise_the_dead(world)
    world.decide("put_back", 2, 19, delivery=6, ended_at=None, status=None)


def retry_by_filter(world: World) -> None:
    raise_the_dead(world)
    world.decide("retry_many", None, 20)


def discard(world: World) -> None:
    world.decide("discard", 2, 30)
    world.move(2, 30.5, state="failed")
    world.messages.pop(0)


def wait_in_outbox(world: World) -> None:
    world.add_ticket(4)
    world.outbox.append(Letter(4, "work", 1, at(950)))


def wait_for_timers(world: World) -> None:
    forget_lease(world)
    world.is_watched = False


def run_with_lease(world: World) -> None:
    forget_lease(world)
    world.jobs[4] = replace(world.jobs[4], locked_until=at(1003))


def wait_for_mirror(world: World) -> None:
    drop_dead_letter(world)
    leave_living(world)
    world.mirror_is_due = False


def lose_stray_with_storage(world: World) -> None:
    lose_stray(world)
    world.ledger.storage_killed_at.append(at(2))


def hide_stray(world: World) -> None:
    lose_stray(world)
    world.hidden = {"tickets": 1}


def answer_too_late(world: World) -> None:
    world.runs[0] = replace(world.runs[0], outcome="retry", error={"code": "provider_timeout"})


@pytest.mark.parametrize(
    "allow",
    [
        save_after_doubt,
        save_in_doubt,
        refuse,
        retry_by_unknown_answer,
        retry_by_message,
        retry_by_filter,
        discard,
        wait_in_outbox,
        wait_for_timers,
        run_with_lease,
        wait_for_mirror,
        lose_stray_with_storage,
        hide_stray,
        answer_too_late,
    ],
)
def test_audit_when_the_contract_allows_it_then_finds_nothing(allow: Plant) -> None:
    world = good_world()
    allow(world)
    for job_id, job in world.jobs.items():
        if job.state == "queued" and not any(letter.job_id == job_id for letter in world.outbox):
            world.jobs[job_id] = replace(job, announced_at=NOW)
    assert audit(world.snapshot()) == []


def test_repeated_then_counts_the_answers_that_were_got_again() -> None:
    assert repeated(good_world().snapshot()) == 1


def test_violation_then_says_what_whose_and_why() -> None:
    world = good_world()
    drop_dead_letter(world)
    [violation] = audit(world.snapshot())
    assert str(violation) == (
        "DEAD_LETTER_MISSING: job 2: a dead letter has no message on the poison queue (delivery 6)"
    )
