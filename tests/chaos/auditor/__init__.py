"""The auditor: from one snapshot to the list of promises that were broken. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.chaos.auditor.arrows import check_arrows
from tests.chaos.auditor.calls import check_calls
from tests.chaos.auditor.decisions import check_decisions
from tests.chaos.auditor.events import check_events
from tests.chaos.auditor.history import check_history
from tests.chaos.auditor.intake import check_intake
from tests.chaos.auditor.poison import check_poison
from tests.chaos.auditor.progress import check_progress
from tests.chaos.auditor.results import check_results
from tests.chaos.auditor.violation import Fault, Violation
from tests.chaos.snapshot import Snapshot

__all__ = ["Fault", "Violation", "audit"]

_CHECKS: tuple[Callable[[Snapshot], Iterable[Violation]], ...] = (
    check_intake,
    check_arrows,
    check_decisions,
    check_results,
    check_history,
    check_calls,
    check_events,
    check_progress,
    check_poison,
)


def audit(snapshot: Snapshot) -> list[Violation]:
    """Every violation that the snapshot shows; [] when all promises were kept."""
    return [violation for check in _CHECKS for violation in check(snapshot)]
