"""What every arrow promises by its numbers, read from the rows before and after it."""

from __future__ import annotations

from collections.abc import Iterator

from shared.db import Row
from tests.seen import Seen

NUMBERED = frozenset({"queued", "dead_letter"})
#: Ends of a run that leave the attempt with the job.
FREE = frozenset({"quota", "breaker", "slice", "shutdown", "waiting_for_approval"})
#: What starts again at nothing when a person takes back a job's end.
AFRESH = {"attempts": 0, "ran_s": 0, "losses": 0, "unclaimed": 0, "cancel_requested": False}
#: Where a job that was asked to stop may still get to.
STOPPED = frozenset({"running", "succeeded", "failed", "cancelled"})


def broken_arrows(before: Seen, now: Seen, called_back: frozenset[int]) -> Iterator[str]:
    """`called_back`: jobs whose end a person has just taken back."""
    for job_id in before.jobs.keys() & now.jobs.keys():
        name, was, job = f"job {job_id}", before.jobs[job_id], now.jobs[job_id]
        yield from (f"{name}: {problem}" for problem in _of_numbers(was, job))
        if job_id in called_back:
            yield from (f"{name}: {problem}" for problem in _of_a_fresh_start(was, job))
        elif run := _just_ended(before, now, job):
            yield from (f"{name}: {problem}" for problem in _of_the_budget(was, job, run))
        if job["state"] == "succeeded" != was["state"] and not before.outputs(job_id).items() <= job["result"].items():
            yield f"{name}: its result is {job['result']}, and {before.outputs(job_id)} was saved"


def _just_ended(before: Seen, now: Seen, job: Row) -> Row | None:
    """The job's newest run, if it has ended since."""
    key = job["job_id"], job["run"]
    has_ended_before = key in before.runs and before.runs[key]["ended_at"] is not None
    run = now.runs.get(key)
    return None if run is None or run["ended_at"] is None or has_ended_before else run


def _of_numbers(was: Row, job: Row) -> Iterator[str]:
    has_moved = any(job[name] != was[name] for name in ("state", "run", "unclaimed"))
    if has_moved and job["state"] in NUMBERED and job["delivery"] <= was["delivery"]:
        yield f"{job['state']} again, and its number is {job['delivery']} still"
    if was["cancel_requested"] and was["state"] == "running" and job["state"] not in STOPPED:
        yield f"asked to stop, and {job['state']}"
    if job["state"] == "running" and job["run"] == was["run"] and was["cancel_requested"] > job["cancel_requested"]:
        yield "nobody remembers that it was asked to stop"


def _of_a_fresh_start(was: Row, job: Row) -> Iterator[str]:
    if job["state"] == "queued" != was["state"]:
        kept = {name: job[name] for name, fresh in AFRESH.items() if job[name] != fresh}
        if kept:
            yield f"called back by a person, and not as new: {kept}"


def _of_the_budget(was: Row, job: Row, run: Row) -> Iterator[str]:
    outcome, error = run["outcome"], run["error"] or {}
    is_free = outcome in FREE or (outcome == "lost" and not error)  # given back, and not found by the sweep
    if outcome != "cancelled" and job["attempts"] != run["attempt"] - is_free:
        yield f"{job['attempts']} attempts spent after attempt {run['attempt']} ended ({outcome})"
    if job["state"] == "dead_letter" and job["attempts"] < job["max_attempts"]:
        yield f"a dead letter after {job['attempts']} of {job['max_attempts']} attempts"
    is_same_run = (was["state"], was["run"]) == ("running", run["run"])
    if error.get("code") == "worker_lost" and is_same_run and not was["is_over"]:
        yield "its worker was called dead while its lease ran"
