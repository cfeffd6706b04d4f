"""What a run says at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.chaos.auditor import Violation
from tests.chaos.auditor.calls import repeated
from tests.chaos.snapshot import Snapshot


@dataclass(frozen=True)
class Report:
    """The counts, and what is wrong."""

    seed: int
    took_s: float
    misfortunes: Mapping[str, int]
    meddling: Mapping[str, int]
    snapshot: Snapshot
    violations: list[Violation] = field(default_factory=list)

    @property
    def accepted(self) -> int:
        """How many tickets and reports were accepted."""
        return sum(request.was_accepted for request in self.snapshot.ledger.requests)

    def lines(self) -> list[str]:
        """The whole report."""
        snapshot, ledger = self.snapshot, self.snapshot.ledger
        answers = Counter(
            f"{answer.status or 'none'} {answer.code or ''}".strip()
            for request in ledger.requests
            for answer in request.answers
        )
        calls: Counter[str] = Counter()
        for call in snapshot.calls:
            calls[call.outcome] += call.times
        kinds = Counter(f"{job.kind}s" for job in snapshot.jobs.values())
        mirror = "" if snapshot.mirror_is_due else ", not judged: too early"
        return [
            f"seed {self.seed}, {self.took_s:.0f} s",
            f"misfortunes   {_counted(self.misfortunes)}",
            f"meddling      {_counted(self.meddling)}",
            f"requests      {len(ledger.requests)} wanted, {self.accepted} accepted; {_counted(kinds)} saved",
            f"answers       {_counted(answers)}",
            f"jobs          {_counted(Counter(job.state for job in snapshot.jobs.values()))}",
            f"runs          {_counted(Counter(run.outcome or 'open' for run in snapshot.runs))}",
            f"calls         {calls.total()}: {_counted(calls)}; {repeated(snapshot)} answers got again",
            f"events        {_counted(Counter(str(hearing.status) for hearing in ledger.hearings))}",
            f"messages      {_counted(Counter(message.queue for message in snapshot.messages))}{mirror}",
            *_list(self.violations),
        ]


def _list(violations: Iterable[Violation]) -> list[str]:
    shown = [f"  {violation}" for violation in violations]
    return [f"VIOLATIONS    {len(shown)}", *shown] if shown else ["no violations"]


def _counted(counter: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items())) or "none"
