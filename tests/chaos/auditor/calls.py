"""Repeated calls stay within the contract's bound: one per run and slot, and only where an answer was lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.snapshot import Call, Run, Snapshot

# Ends of a run in which a good answer may have got lost, or was of no use.
LOSING = frozenset({"lost", "shutdown", "failed", "cancelled"})
# Steps that cannot be done without asking the model.
ASKING = ("classify", "draft_reply", "embed", "batch-")
# The errors with which a run goes back, or to the dead letters, although the provider had answered.
ANSWERED_TOO_LATE = frozenset({"provider_timeout", "internal_error", "worker_lost"})

StepKey = tuple[int, str]


def check_calls(snapshot: Snapshot) -> Iterator[Violation]:
    """Every provider call against the run that made it and the step that it was for."""
    runs = {(run.job_id, run.run): run for run in snapshot.runs}
    saved_in = _saved_in(snapshot)
    calls: dict[tuple[int, int, str], list[Call]] = defaultdict(list)
    for call in snapshot.calls:
        calls[call.job_id, call.run, call.step].append(call)
    for (job_id, number, step), made in sorted(calls.items()):
        subject = f"job {job_id}"
        shown = f"run {number}, {step}: " + ", ".join(f"{call.times} × {call.outcome}" for call in made)
        run = runs.get((job_id, number))
        saved = saved_in.get((job_id, step))
        if run is None:
            yield Violation(Fault.CALL_UNKNOWN, subject, shown)
            continue
        # A refusal may be waited for within the run; everything else is an answer, or ends the run.
        if sum(call.times for call in made if call.outcome != "429") > 1:
            yield Violation(Fault.CALL_REPEATED, subject, shown)
        if saved is not None and number > saved:
            yield Violation(Fault.CALL_AFTER_SAVE, subject, f"{shown}, saved in run {saved}")
        elif number != saved and _was_answered(made) and not _may_lose(run):
            yield Violation(Fault.ANSWER_THROWN_AWAY, subject, f"{shown}, the run says {run.outcome} {run.error}")
    for (job_id, step), number in saved_in.items():
        if step.startswith(ASKING) and not _was_answered(calls[job_id, number, step]):
            yield Violation(Fault.STEP_MADE_UP, f"job {job_id}", f"{step} was saved in run {number}")


def repeated(snapshot: Snapshot) -> int:
    """How many answers were got more than once."""
    answers: dict[StepKey, int] = defaultdict(int)
    for call in snapshot.calls:
        if call.outcome == "200":
            answers[call.job_id, call.step] += call.times
    return sum(times - 1 for times in answers.values())


def _saved_in(snapshot: Snapshot) -> dict[StepKey, int]:
    """The run in which each step was first saved."""
    saved: dict[StepKey, int] = {}
    for change in snapshot.changes_of("job_steps"):
        if change.after and change.after["state"] == "succeeded" and change.run is not None:
            saved.setdefault((change.number, change.after["name"]), change.run)
    return saved


def _was_answered(calls: list[Call]) -> bool:
    return any(call.outcome == "200" for call in calls)


def _may_lose(run: Run) -> bool:
    if run.outcome is None or run.outcome in LOSING:
        return True
    return run.outcome in ("retry", "dead_letter") and (run.error or {}).get("code") in ANSWERED_TOO_LATE
