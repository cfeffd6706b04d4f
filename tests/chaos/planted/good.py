"""A world in which every promise was kept: of each sort of job one, with something that went wrong on its way."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.ledger import Answer, Hearing, Request, Sighting, Stray
from tests.chaos.planted.world import ERROR, World, at, poison
from tests.chaos.snapshot import Call, File, Message

STEPS = ("classify", "draft_reply", "embed")
REPORT, ASKED, DONE = 11, 12, 13  # a report, and the webhooks that tell of its question and of its end


def good_world() -> World:
    """Job 1 succeeded after a worker was lost, 2 is a dead letter that was retried once before, 3 was cancelled,
    and 11 is a report that was approved, of which 12 and 13 told."""
    world = World()
    add_success(world)
    add_dead_letter(world)
    add_cancelled(world)
    add_report(world)
    note = Stray("ask Bob", at(1))
    world.ledger.strays.append(note)
    world.messages.append(Message("tickets-poison", note.text))
    return world


def add_success(world: World) -> None:
    world.add_ticket(1, key="key-1")
    world.claim(1, 1)
    world.calls.append(Call(1, 1, "classify", "200"))
    world.end(1, 10, "queued", "lost")
    world.claim(1, 11)
    for second, name in enumerate(STEPS, 12):
        world.save(1, name, second)
    result = {"team": "billing", "priority": 1, "draft_reply": "About Charged twice [q1]", "embedding_version": "e"}
    world.end(1, 15, "succeeded", "succeeded", result=result)
    reply = "About Charged twice [q1]"
    ticket = replace(world.tickets[500_001], team="billing", priority=1, draft_reply=reply, is_embedded=True)
    world.tickets[500_001] = ticket
    world.ledger.sightings.append(Sighting(1, "succeeded", result))


def add_dead_letter(world: World) -> None:
    world.add_ticket(2)
    for second in (0, 10):
        world.claim(2, second + 1)
        world.calls.append(Call(2, world.jobs[2].run, "classify", "503"))
        world.end(2, second + 2, "queued", "retry", last_error=ERROR)
        world.claim(2, second + 3)
        world.calls.append(Call(2, world.jobs[2].run, "classify", "429", times=3))
        world.end(2, second + 4, "dead_letter", "dead_letter", last_error=ERROR)
        if second == 0:
            world.retry(2, 5)
    world.messages.append(poison(2, world.jobs[2].delivery))


def add_cancelled(world: World) -> None:
    world.add_ticket(3)
    world.decide("cancel", 3, 2, ended_at=None, status=None)
    world.move(3, 2.5, state="cancelled")


def add_report(world: World) -> None:
    body = {"task": "Sum up [q11]", "workspace_id": "team_7"}
    world.ledger.requests.append(Request("[q11]", "key-11", "/v1/jobs", body, [Answer(202, job_id=REPORT)]))
    world.add_job(REPORT, kind="support_report", queue="reports", webhook_url="http://receiver/", input=body)
    world.claim(REPORT, 20)
    world.save(REPORT, "collect", 21, is_asked=False)
    world.save(REPORT, "batch-1", 22)
    world.save(REPORT, "draw", 23, is_asked=False)
    world.end(REPORT, 24, "waiting_for_approval", "waiting_for_approval", attempts=0)
    world.decide("approve", REPORT, 25)
    world.move(REPORT, 25.5, state="queued", delivery=2)
    world.claim(REPORT, 26)
    url = f"/v1/artifacts/{REPORT}/report.html?token=abc"
    world.end(REPORT, 27, "succeeded", "succeeded", result={"summary": "Well.", "artifact_url": url})
    world.files.append(File(REPORT, "report.html", "abc"))
    for job_id, second, state in ((ASKED, 24, "waiting_for_approval"), (DONE, 27, "succeeded")):
        add_webhook(world, job_id, second, state)


def add_webhook(world: World, job_id: int, second: float, state: str) -> None:
    """Told twice: the first time it was not taken."""
    about = {"type": f"job.{state}"}
    world.add_job(job_id, kind="webhook", queue="webhooks", about_job_id=REPORT, input=about)
    world.claim(job_id, second + 1)
    world.end(job_id, second + 2, "queued", "retry", last_error=ERROR)
    world.claim(job_id, second + 3)
    world.save(job_id, "deliver", second + 4, is_asked=False)
    world.end(job_id, second + 5, "succeeded", "succeeded", result={"status": 200})
    world.ledger.hearings += [Hearing(f"evt_{job_id}", status) for status in (503, 200)]
