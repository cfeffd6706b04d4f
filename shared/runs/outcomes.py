"""How a run can end, and which end an error means. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shared.artifacts import Artifact, ArtifactTooLarge
from shared.errors import (
    BreakerOpen,
    DatabaseUnavailable,
    Final,
    LaneBusy,
    Misconfigured,
    ProviderError,
    Throttled,
    Undelivered,
)
from shared.jobs import states
from shared.jobs.leave import Left
from shared.jobs.states import JobError
from shared.provider.refusals import SAID
from shared.runs.run import Stopped

MISCONFIGURED_WAIT_S = 60.0  # the breaker makes one trial call a minute


@dataclass(frozen=True)
class Succeeded:
    result: dict[str, Any]
    artifacts: tuple[Artifact, ...] = ()


@dataclass(frozen=True)
class Waiting:
    """A person has to decide about `step`, with `preview` before them."""

    step: str
    preview: tuple[Artifact, ...]


@dataclass(frozen=True)
class Failed:
    """No retry can help."""

    error: JobError


@dataclass(frozen=True)
class Retried:
    """Later, while there are attempts left; `hint_s` is the provider's own wish, if it has one."""

    error: JobError
    hint_s: float | None = None


@dataclass(frozen=True)
class GivenBack:
    """Later, without losing the attempt: the job is not to blame.

    `wait_s` 0 = when lane and breakers let it, at its old place in line; None = the back-off decides.
    """

    reason: states.GivenBack
    wait_s: float | None = 0.0
    error: JobError | None = None


@dataclass(frozen=True)
class Crashed:
    """An exception that nobody expected: retried, and then handed on to the host."""

    error: BaseException


@dataclass(frozen=True)
class Cancelled:
    """Somebody asked for the end of a kind of job that allows it."""


@dataclass(frozen=True)
class Lost:
    """The job is somebody else's by now: write nothing."""


@dataclass(frozen=True)
class OutOfPatience:
    """The database stayed away for longer than a run waits: later, without losing the attempt."""


Outcome = Succeeded | Waiting | Failed | Retried | GivenBack | Crashed | Cancelled | OutOfPatience | Lost


def outcome_of(error: BaseException) -> Outcome:
    """The end that an error of a step means."""
    match error:
        case Stopped():
            return _stopped(error)
        case ProviderError():
            return _provider(error)
        case Undelivered():
            return Retried(JobError("undeliverable", str(error), error.status))
        case ArtifactTooLarge():
            return Failed(JobError("artifact_too_large", str(error)))
        case DatabaseUnavailable():
            return OutOfPatience()
        case _:
            return Crashed(error)


def code_of(outcome: Outcome) -> str | None:
    """The job error code of an end that has one."""
    match outcome:
        case Retried(error) | Failed(error) | GivenBack(error=JobError() as error):
            return error.code
        case Crashed():
            return "internal_error"
        case _:
            return None


def in_words(outcome: Outcome, left: Left) -> str:
    """What the log line of an arrow adds: why, and how long it waits."""
    match outcome:
        case Retried(error) | Failed(error):
            why = f"{error.code}: {error.message.partition(SAID)[0]}"  # the provider's words stay in the job's row
        case GivenBack(given_back):
            why = given_back
        case Crashed(crash):
            why = f"internal_error: {type(crash).__name__}"
        case _:
            return ""
    return f", {why}" + (f", again in {left.wait_s:.1f} s" if left.state == "queued" else "")


def _provider(error: ProviderError) -> Outcome:
    why = JobError(error.code, error.message)
    match error:
        case LaneBusy():
            return GivenBack("quota")
        case Throttled():
            return GivenBack("quota", error.retry_after_s, why)
        case Misconfigured():
            return GivenBack("breaker", MISCONFIGURED_WAIT_S, why)
        case BreakerOpen():
            return GivenBack("breaker")
        case Final():
            return Failed(why)
        case _:
            return Retried(why, error.retry_after_s)


def _stopped(stop: Stopped) -> Outcome:
    match stop.reason:
        case "lost":
            return Lost()
        case "cancelled":
            return Cancelled()
        case "deadline":
            return Failed(JobError("job_timeout", "The job ran longer than it may."))
        case "shutdown" | "slice":
            return GivenBack(stop.reason)
