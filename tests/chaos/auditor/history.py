"""The history's promises: one row a run, closed by the arrow that ended it, with the attempts counted right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.snapshot import Job, Run, Snapshot

# The outcomes of runs that ended in the queue; any other outcome is the state that was reached.
BACK_IN_QUEUE = frozenset({"retry", "quota", "breaker", "slice", "shutdown", "lost"})
GIVEN_BACK = frozenset({"quota", "breaker", "slice", "shutdown", "waiting_for_approval"})
EITHER = frozenset({"lost"})  # by the worker that could not reach Postgres (kept), by the sweep (lost)


def check_history(snapshot: Snapshot) -> Iterator[Violation]:
    """The runs of every job, against the job and against what the witness saw."""
    runs: dict[int, list[Run]] = defaultdict(list)
    for run in sorted(snapshot.runs, key=lambda run: run.run):
        runs[run.job_id].append(run)
    ends = _ends(snapshot)
    for job in snapshot.jobs.values():
        for wrong in _wrongs(job, runs[job.job_id], ends):
            yield Violation(Fault.HISTORY_WRONG, f"job {job.job_id}", wrong)


def _ends(snapshot: Snapshot) -> dict[tuple[int, int], str]:
    """The state that each (job, run) was seen to end in."""
    return {
        (change.number, change.before["run"]): change.after["state"]
        for change in snapshot.changes_of("jobs")
        if change.before and change.after and change.before["state"] == "running"
    }


def _wrongs(job: Job, runs: list[Run], ends: dict[tuple[int, int], str]) -> Iterator[str]:
    if [run.run for run in runs] != list(range(1, job.run + 1)):
        yield f"the job had {job.run} runs, the history has {[run.run for run in runs]}"
        return
    for before, run in zip([None, *runs], runs, strict=False):
        is_open = job.state == "running" and run.run == job.run
        if (run.outcome is None) != is_open:
            yield f"run {run.run} is {'open' if run.outcome is None else 'closed'}, the job is {job.state}"
        elif run.outcome and _state_of(run.outcome) != ends.get((job.job_id, run.run)):
            yield f"run {run.run} says {run.outcome}, but it ended in {ends.get((job.job_id, run.run))}"
        if run.attempt not in _possible_attempts(before, run):
            yield f"run {run.run} counts as attempt {run.attempt} after {before}"
    if runs and job.state == "dead_letter" and job.attempts < job.max_attempts:
        yield f"a dead letter after {job.attempts} of {job.max_attempts} attempts"


def _state_of(outcome: str) -> str:
    return "queued" if outcome in BACK_IN_QUEUE else outcome


def _possible_attempts(before: Run | None, run: Run) -> set[int]:
    """What a run may count as: 1 at first and after a person's retry, else by how the run before ended."""
    if before is None or before.outcome in ("failed", "dead_letter"):
        return {1}
    if before.outcome in GIVEN_BACK:
        return {before.attempt}
    return {before.attempt, before.attempt + 1} if before.outcome in EITHER else {before.attempt + 1}
