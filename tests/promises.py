"""What must hold after every statement of anybody, read from the rows: each promise is a sentence when it is broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from shared.jobs.states import FINISHED
from tests.promises_of_arrows import broken_arrows
from tests.seen import Seen

PURPOSES = {"queued": "work", "dead_letter": "poison"}


def broken(
    before: Seen, now: Seen, *, called_back: frozenset[int], untouched: frozenset[int] = frozenset()
) -> list[str]:
    """The promises that do not hold any more; `called_back`: jobs whose end a person has just taken back; `untouched`:
    those with which nobody had a right to do anything."""
    return [
        *_of_rows(now),
        *_of_questions(now),
        *_of_jobs(before, now, called_back),
        *_of_history(before, now),
        *broken_arrows(before, now, called_back),
        *(
            f"job {job_id}: written by one whose job it is not"
            for job_id in untouched
            if before.of(job_id) != now.of(job_id)
        ),
    ]


def _of_rows(now: Seen) -> Iterator[str]:
    """What one look tells: every job has exactly one future."""
    rows = Counter((row["job_id"], row["delivery"], row["purpose"]) for row in now.outbox)
    is_open = Counter((run["job_id"], run["run"]) for run in now.runs.values() if run["ended_at"] is None)
    for job in now.jobs.values():
        name = f"job {job['job_id']} ({job['state']})"
        if is_open[job["job_id"], job["run"]] != (job["state"] == "running"):
            yield f"{name}: a run is open if and only if the job is running"
        if purpose := PURPOSES.get(job["state"]):
            put_at = job["announced_at"] if purpose == "work" else job["poison_put_at"]
            places = rows[job["job_id"], job["delivery"], purpose] + (put_at is not None)
            # A dead letter put without an answer may be met on its queue, and be recorded, before it is put again.
            if places != 1 and (purpose, places) != ("poison", 2):
                yield f"{name}: its {purpose} message is in {places} places"
    running = {(job["job_id"], job["run"]) for job in now.jobs.values() if job["state"] == "running"}
    for job_id, run in is_open.keys() - running:
        yield f"job {job_id}: run {run} is open, and nobody is at it"


def _of_questions(now: Seen) -> Iterator[str]:
    """A job waits for a person if and only if it asks one, and nobody is asked the same again."""
    for job_id, job in now.jobs.items():
        if len(list(now.questions_open(job_id))) != (job["state"] == "waiting_for_approval"):
            yield f"job {job_id}: {job['state']}, and its question is not"
    for (job_id, step), times in Counter((row["job_id"], row["step"]) for row in now.questions.values()).items():
        if times > 1:
            yield f"job {job_id}: people are asked about {step} {times} times"


def _of_jobs(before: Seen, now: Seen, called_back: frozenset[int]) -> Iterator[str]:
    """What two looks tell about the jobs: numbers only rise, an end is an end."""
    for job_id, was in before.jobs.items():
        job: dict[str, Any] = now.jobs.get(job_id, {})
        if not job:
            yield f"job {job_id}: accepted and gone"
            continue
        for number in ("run", "delivery", "progress"):
            if job[number] < was[number]:
                yield f"job {job_id}: {number} fell from {was[number]} to {job[number]}"
        if was["state"] in FINISHED and job["state"] != was["state"] and job_id not in called_back:
            yield f"job {job_id}: left {was['state']} for {job['state']}, and no person wanted it"
        if was["state"] in {"succeeded", "cancelled"} and job != was:
            yield f"job {job_id}: {was['state']}, and changed after that"


def _of_history(before: Seen, now: Seen) -> Iterator[str]:
    """What two looks tell about steps and runs: what is saved or ended stays as it is."""
    for (job_id, name), was in before.steps.items():
        step: dict[str, Any] = now.steps.get((job_id, name), {})
        is_handed_on = now.jobs[job_id]["state"] == "succeeded"
        same = step | {"output": was["output"]} if is_handed_on else step
        if was["state"] == "succeeded" and same != was:
            yield f"job {job_id}: step {name} was saved, and saved again"
    for (job_id, run), was in before.runs.items():
        if was["ended_at"] is not None and now.runs.get((job_id, run)) != was:
            yield f"job {job_id}: run {run} had ended, and its history changed"
