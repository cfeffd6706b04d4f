"""What can be wrong, by name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """A promise that was broken."""

    JOB_LOST = "a ticket or report was accepted and is not there"
    JOB_MIXED_UP = "an answer names somebody else's job or ticket"
    JOB_DOUBLED = "one request made several jobs"
    JOB_UNASKED = "a job is there that was refused, or that nobody asked for"
    TICKET_WITHOUT_JOB = "a ticket has not exactly one job"
    ANSWER_UNEXPECTED = "an answer has a status that the contract does not know here"

    ROW_DELETED = "a row was deleted"
    ARROW_FORBIDDEN = "a state changed in a way that no arrow allows"
    NUMBERS_WRONG = "run, delivery or attempts did not move as the arrow moves them"
    TERMINAL_LEFT = "a job left a terminal state, and no person asked for it"
    DECISION_MADE_UP = "a job was cancelled or discarded, and no person asked for it"
    DECISION_LOST = "a person was told that it is done, and it was not"
    RESULT_OVERWRITTEN = "a result changed after it was saved"
    RESULT_MIXED_UP = "a result is not the one of its ticket"
    RESULT_TAKEN_BACK = "a result that was shown is not there any more"

    STEP_SAVED_TWICE = "a saved step was saved again"
    STEP_MISSING = "a job succeeded without all its steps"
    HISTORY_WRONG = "the history does not tell what happened"
    HISTORY_REWRITTEN = "an ended run was changed afterwards"

    CALL_REPEATED = "a run asked for the same step more than once"
    CALL_AFTER_SAVE = "a step was asked for although its answer was saved"
    ANSWER_THROWN_AWAY = "a good answer was not saved, and its run says nothing of a loss"
    CALL_UNKNOWN = "a call was made by a run that never was"
    STEP_MADE_UP = "a step was saved that no call answered"

    EVENTS_MISCOUNTED = "a job's arrows and the events about them do not match"
    EVENT_LOST = "an event counts as delivered and was never taken"
    EVENT_REPEATED = "an event was told more often than its runs explain"

    STRANDED = "a job waits for nothing that will come"
    OVERDUE = "a job should have gone on long ago"

    DEAD_LETTER_MISSING = "a dead letter has no message on the poison queue"
    DEAD_LETTER_DOUBLED = "a dead letter has several messages on the poison queue"
    DEAD_LETTER_UNREADABLE = "a poison message does not tell what its row tells"
    POISON_LEFT_OVER = "a poison message is about a job that is no dead letter, or has an old number"
    STRAY_LOST = "a message that was no job's vanished"
    STRAY_UNKNOWN = "the poison queue holds a text that nobody sent"


@dataclass(frozen=True)
class Violation:
    """A fault, whose it is (`job 7`), and what shows it."""

    fault: Fault
    subject: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.fault.name}: {self.subject}: {self.fault.value} ({self.evidence})"
