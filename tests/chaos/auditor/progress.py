"""Every job is in a terminal state or still honestly on its way: something is there that will move it on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.snapshot import AT_REST, Job, Letter, Snapshot

# The contract's section 3, in seconds.
UNCLAIMED_S = 30.0
LONGEST_SILENCE_S = 3600.0
PASSES_WATCHED_S = 10.0  # while people look at unfinished jobs
PASSES_UNWATCHED_S = 130.0  # when a killed host held the timers' lock, and nobody looks
HELD_BACK_S = 120.0  # the longest pause of a breaker, and the backlog at the quota's pace
SLACK_S = 20.0  # two hosts, three servers and their customers on one machine


def check_progress(snapshot: Snapshot) -> Iterator[Violation]:
    """All jobs that have to go on by themselves."""
    letters = {(letter.job_id, letter.delivery): letter for letter in snapshot.outbox if letter.purpose == "work"}
    for job in snapshot.jobs.values():
        if job.state in AT_REST:
            continue
        shown = f"{job.state}, delivery {job.delivery}"
        wakes_at = wakes_by(job, letters.get((job.job_id, job.delivery)))
        if wakes_at is None:
            yield Violation(Fault.STRANDED, f"job {job.job_id}", shown)
        elif snapshot.taken_at > patience_ends(wakes_at, snapshot.up_since, is_watched=snapshot.is_watched):
            yield Violation(Fault.OVERDUE, f"job {job.job_id}", f"{shown}, should have moved after {wakes_at:%H:%M:%S}")


def wakes_by(job: Job, letter: Letter | None) -> datetime | None:
    """When a pass finds an unfinished job and moves it on; None = never."""
    if job.state == "running":
        return job.locked_until
    if letter is not None:
        return letter.due_at + timedelta(seconds=HELD_BACK_S)
    if job.announced_at is None:
        return None
    silence_s = min(LONGEST_SILENCE_S, UNCLAIMED_S * 2.0 ** min(job.unclaimed, 12))
    return job.announced_at + timedelta(seconds=silence_s)


def patience_ends(wakes_at: datetime, up_since: datetime, *, is_watched: bool) -> datetime:
    """When the pass must have been there, if it could begin its work at `up_since`."""
    within_s = PASSES_WATCHED_S if is_watched else PASSES_UNWATCHED_S
    return max(wakes_at, up_since) + timedelta(seconds=within_s + SLACK_S)
