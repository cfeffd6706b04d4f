"""Only people leave terminal states, cancel and discard; and what a person was told is done, was done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.ledger import Deed, DeedKind
from tests.chaos.snapshot import FINISHED, Change, Snapshot

# Which decisions explain an arrow, and the fault of one that nothing explains.
EXPLAINED_BY: dict[tuple[str, str], tuple[Fault, tuple[DeedKind, ...]]] = {
    ("dead_letter", "queued"): (Fault.TERMINAL_LEFT, ("retry", "retry_many", "put_back")),
    ("failed", "queued"): (Fault.TERMINAL_LEFT, ("retry",)),
    ("dead_letter", "failed"): (Fault.DECISION_MADE_UP, ("discard",)),
    ("queued", "cancelled"): (Fault.DECISION_MADE_UP, ("cancel",)),
    ("running", "cancelled"): (Fault.DECISION_MADE_UP, ("cancel",)),
    ("waiting_for_approval", "cancelled"): (Fault.DECISION_MADE_UP, ("cancel", "reject")),
    ("waiting_for_approval", "queued"): (Fault.DECISION_MADE_UP, ("approve",)),
}
BY_REQUEST = frozenset({"retry", "discard", "cancel", "approve", "reject"})
FOR_EVER = datetime.max


def check_decisions(snapshot: Snapshot) -> Iterator[Violation]:
    """Each arrow that is a person's is paired with a decision of its own; certain decisions must find theirs."""
    unused = list(snapshot.ledger.deeds)
    for change in snapshot.changes_of("jobs"):
        if change.before is None or change.after is None:
            continue
        arrow = (change.before["state"], change.after["state"])
        fault, kinds = EXPLAINED_BY.get(arrow, (Fault.TERMINAL_LEFT, ()))
        if not kinds and not (arrow[0] in FINISHED and arrow[1] != arrow[0]):
            continue
        deed = _deed_behind(change, kinds, unused)
        if deed is None:
            shown = f"{arrow[0]} → {arrow[1]} at {change.at:%H:%M:%S.%f}"
            yield Violation(fault, f"job {change.number}", shown)
        elif deed.kind != "retry_many":
            unused.remove(deed)
    for deed in unused:
        if deed.kind in BY_REQUEST and deed.is_certain:
            yield Violation(Fault.DECISION_LOST, f"job {deed.job_id}", f"{deed.kind} at {deed.began_at:%H:%M:%S.%f}")


def _deed_behind(change: Change, kinds: tuple[DeedKind, ...], deeds: list[Deed]) -> Deed | None:
    """The decision that explains the change: of several the one whose time is up first."""
    before = change.before or {}
    fitting = [
        deed
        for deed in deeds
        if deed.kind in kinds
        and deed.job_id in (None, change.number)
        and (deed.kind != "put_back" or deed.delivery == before["delivery"])
        and deed.may_have_worked
        and deed.began_at <= change.at
        and (deed.ended_at is None or not deed.is_certain or change.at <= deed.ended_at)
    ]
    return min(fitting, key=_time_is_up, default=None)


def _time_is_up(deed: Deed) -> datetime:
    return deed.ended_at.replace(tzinfo=None) if deed.is_certain and deed.ended_at else FOR_EVER
