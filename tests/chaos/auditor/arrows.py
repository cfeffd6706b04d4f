"""The state machine's promises: only its arrows, each with its numbers, and no row ever goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.snapshot import Change, Snapshot

# The contract's table of arrows. Who may take one is another question (decisions).
ARROWS = frozenset(
    {
        ("queued", "running"),
        ("queued", "queued"),
        ("queued", "failed"),
        ("queued", "cancelled"),
        ("running", "succeeded"),
        ("running", "failed"),
        ("running", "queued"),
        ("running", "dead_letter"),
        ("running", "waiting_for_approval"),
        ("running", "cancelled"),
        ("waiting_for_approval", "queued"),
        ("waiting_for_approval", "cancelled"),
        ("dead_letter", "queued"),
        ("dead_letter", "failed"),
        ("failed", "queued"),
    }
)
NUMBERED = frozenset({"queued", "dead_letter"})  # the states whose arrows take a new delivery


def check_arrows(snapshot: Snapshot) -> Iterator[Violation]:
    """What the witness saw happen to jobs; and that nothing it watches was deleted."""
    for change in snapshot.changes:
        if change.after is None:
            yield Violation(Fault.ROW_DELETED, f"{change.table} {change.number}", f"{change.before}")
        elif change.table == "jobs" and change.before is not None and _moves(change.before, change.after):
            yield from _check_arrow(change, change.before, change.after)


def _moves(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return any(before[name] != after[name] for name in ("state", "run", "delivery"))


def _check_arrow(change: Change, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Violation]:
    subject, arrow = f"job {change.number}", (before["state"], after["state"])
    shown = f"{arrow[0]} → {arrow[1]} at {change.at:%H:%M:%S.%f}"
    if arrow not in ARROWS:
        yield Violation(Fault.ARROW_FORBIDDEN, subject, shown)
    elif arrow == ("queued", "failed") and (after["last_error"] or {}).get("code") != "undeliverable":
        yield Violation(Fault.ARROW_FORBIDDEN, subject, f"{shown}, {after['last_error']}")
    elif wrong := _wrong_numbers(before, after):
        yield Violation(Fault.NUMBERS_WRONG, subject, f"{shown}: {wrong}")


def _wrong_numbers(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    claims = after["state"] == "running"
    raised = after["delivery"] - before["delivery"]
    may_raise = {1} if after["state"] in NUMBERED else {0} if claims else {0, 1}
    wrong = []
    if after["run"] != before["run"] + claims:
        wrong.append(f"run {before['run']} → {after['run']}")
    if raised not in may_raise:
        wrong.append(f"delivery {before['delivery']} → {after['delivery']}")
    if claims and after["attempts"] != before["attempts"] + 1:
        wrong.append(f"attempts {before['attempts']} → {after['attempts']}")
    return ", ".join(wrong)
