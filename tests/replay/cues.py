"""When, in a replay, each input and each observation of a scenario is due."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from tests.replay.events import Event
from tests.replay.journal import Journal
from tests.replay.scenario import Input, Scenario

BURST_S = 0.1
LONGEST_WARM_UP_S = 1.0
PATIENCE_S = 15.0


@dataclass(frozen=True)
class Cue:
    """One thing to do from outside. `runs_before` counts the function's events that the recording shows earlier."""

    at_s: float
    action: Input | Event
    runs_before: int
    after_run_at_s: float
    begins_burst: bool
    is_after_exit: bool


def list_cues(scenario: Scenario) -> list[Cue]:
    """Return what is to be done, in order.

    What the recording did before its first GET, within the first second, is done before the host starts: that
    program needed longer for its first request than ours.
    """
    gets = [event.at_s for event in scenario.timeline if event.what == "get"]
    actions: list[Input | Event] = [*scenario.inputs, *_observations(scenario)]
    actions.sort(key=lambda action: (action.at_s, isinstance(action, Input)))
    warm_up_s = min([*gets, LONGEST_WARM_UP_S])
    early = [action for action in actions if action.at_s < warm_up_s and not _is_start(action)]
    late = [action for action in actions if action not in early]
    before: Input | Event | None = None
    cues = []
    for action in [*early, *late]:
        cues.append(_cue(scenario, action, before, is_early=action.at_s < warm_up_s))
        before = action
    return cues


async def await_cue(cue: Cue, scenario: Scenario, journal: Journal) -> None:
    """Wait until it is time: by the clock, and as long after the function's last event as in the recording."""
    if cue.at_s < 0:
        return
    deadline_s = cue.at_s + scenario.settings.max_polling_interval_s + PATIENCE_S
    await journal.grow_until(lambda: len(journal.runs()) >= cue.runs_before, deadline_s)
    due_s = cue.at_s
    if runs := journal.runs()[: cue.runs_before]:
        due_s = max(due_s, runs[-1].at_s + cue.at_s - cue.after_run_at_s)
    await asyncio.sleep(due_s - journal.now_s())
    if cue.begins_burst:
        await _await_poll(journal, scenario.settings.max_polling_interval_s)


async def _await_poll(journal: Journal, patience_s: float) -> None:
    """Wait for the next poll, if polling goes on, so that a burst of messages falls between two polls."""
    polls = journal.count_polls()
    deadline_s = journal.now_s() + min(patience_s, 1.0) + 0.2
    await journal.grow_until(lambda: journal.count_polls() > polls, deadline_s)


def _cue(scenario: Scenario, action: Input | Event, before: Input | Event | None, *, is_early: bool) -> Cue:
    runs = [event for event in scenario.timeline if event.who == "function" and event.at_s < action.at_s]
    follower = min(
        (other.at_s for other in scenario.inputs if _is_put(other) and other.at_s > action.at_s), default=1e9
    )
    continues = isinstance(before, Input) and _is_put(before) and action.at_s - before.at_s < BURST_S
    return Cue(
        at_s=-1.0 if is_early else action.at_s,
        action=action,
        runs_before=len(runs),
        after_run_at_s=runs[-1].at_s if runs else 0.0,
        begins_burst=not is_early
        and isinstance(action, Input)
        and _is_put(action)
        and not continues
        and follower - action.at_s < BURST_S,
        is_after_exit=action.at_s > scenario.exit_at_s,
    )


def _observations(scenario: Scenario) -> Iterator[Event]:
    """Yield each kind of look once for each moment at which it was made."""
    seen_at_s: dict[tuple[str, str], float] = {}
    for event in scenario.timeline:
        if event.who == "observer":
            last_s = seen_at_s.get((event.what, event.queue), -1.0)
            if event.at_s - last_s > BURST_S:
                yield event
            seen_at_s[event.what, event.queue] = event.at_s


def _is_start(action: Input | Event) -> bool:
    return isinstance(action, Input) and action.op == "start_host"


def _is_put(action: Input) -> bool:
    return action.op in {"put", "put_text"}
