"""The rules for a listener's polls: when the next one is due, and what it asks for (R1-R18, R37, R51-R57)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.replay.events import Event
from tests.replay.limits import Slack, Span, poll_wait, retry_wait
from tests.replay.places import Stay, count_places, free_from, list_stays
from tests.replay.scenario import Scenario
from tests.replay.streams import POLLS

START = Span(0.0, 0.5)
AT_ONCE = Span(0.0, 0.05)
WOKEN = Span(0.0, 0.2)
REPEATED = {"500", "503", "dropped"}


def check_polls(scenario: Scenario, events: Sequence[Event], slack: Slack) -> Iterator[str]:
    """Yield one sentence for each poll that came at the wrong time or asked for the wrong thing."""
    stays = list_stays(scenario, events)
    for queue in scenario.queues:
        polls = [event for event in events if event.what in POLLS and event.queue == queue]
        yield from _check_requests(scenario, polls, stays, slack)
        yield from _PollWaits(scenario, events, stays, queue, slack).check(polls)


def _check_requests(scenario: Scenario, polls: Sequence[Event], stays: Sequence[Stay], slack: Slack) -> Iterator[str]:
    if polls and not START.holds(0.0, polls[0].at_s, slack):
        yield f"first request after {polls[0].at_s:.2f} s, allowed {START} (R1)"
    wanted = (scenario.settings.batch_size, scenario.times.hidden_s)
    for poll in polls:
        is_shown = poll.count is not None  # the recording leaves it out of its rows of empty polls
        if poll.what == "get" and is_shown and (poll.count, poll.seconds) != wanted:
            yield f"{poll.at_s:.2f} s: GET asks for {poll.count}, {poll.seconds} s, not for {wanted} (R2)"
        taken = count_places(stays, poll.queue, poll.at_s)
        if poll.what == "get" and taken > scenario.settings.new_batch_threshold:
            yield f"{poll.at_s:.2f} s: GET while {taken} run (R9)"


class _PollWaits:
    """Follows the polls of one queue and knows when the next is due."""

    def __init__(
        self, scenario: Scenario, events: Sequence[Event], stays: Sequence[Stay], queue: str, slack: Slack
    ) -> None:
        self._scenario = scenario
        self._events = events
        self._stays = stays
        self._queue = queue
        self._slack = slack
        self._empty_polls = 0
        self._failed_tries = 0

    def check(self, polls: Sequence[Event]) -> Iterator[str]:
        for poll, following in pairwise(polls):
            from_s, span = self._due(poll, following)
            woken_s = self._woken(poll, following)
            restarted_s = self._restarted(poll, following)
            if woken_s is not None:
                from_s, span = woken_s, WOKEN
            elif restarted_s is not None:
                from_s, span, self._empty_polls = restarted_s, START, 0
            if following.follows_gap:
                self._empty_polls = 99
            elif not span.holds(from_s, following.at_s, self._slack):
                yield (
                    f"{self._queue}, {following.at_s:.2f} s: {following.what} {following.at_s - from_s:.2f} s after"
                    f" {poll.what} {poll.status}{len(poll.got) or ''}, allowed {span}"
                )

    def _due(self, poll: Event, following: Event) -> tuple[float, Span]:
        """Return from when the next poll's time counts, and how long it may take."""
        times = self._scenario.times
        if poll.status in REPEATED:
            self._failed_tries += 1
            if self._failed_tries < times.tries:
                by_client = poll.status == "dropped" and following.at_s - poll.done_at_s < times.first_retry_s / 2
                return poll.done_at_s, AT_ONCE if by_client else retry_wait(times, self._failed_tries)
        self._failed_tries = 0
        if poll.what == "exists" and not poll.status:
            return poll.done_at_s, AT_ONCE
        if any(got.tag not in self._scenario.undecodable for got in poll.got):
            self._empty_polls = 0
            threshold = self._scenario.settings.new_batch_threshold
            return free_from(self._stays, self._queue, threshold, self._ready_at_s(poll)), AT_ONCE
        self._empty_polls += 1
        longest_s = self._scenario.settings.max_polling_interval_s
        return self._ready_at_s(poll), poll_wait(times, self._empty_polls, longest_s)

    def _ready_at_s(self, poll: Event) -> float:
        """Return when the fetch was over: undecodable messages are moved inside it (R30, R31)."""
        tags = {got.tag for got in poll.got} & self._scenario.undecodable
        moves = [event.done_at_s for event in self._events if event.what == "delete" and event.tag in tags]
        return max([poll.done_at_s, *moves])

    def _restarted(self, poll: Event, following: Event) -> float | None:
        starts = [event.at_s for event in self._events if event.what == "host-started"]
        return next((at_s for at_s in starts if poll.done_at_s < at_s < following.at_s), None)

    def _woken(self, poll: Event, following: Event) -> float | None:
        """Return when a move to this poison queue woke its listener between the two polls (R26)."""
        if not self._queue.endswith("-poison"):
            return None
        adds = [event.done_at_s for event in self._events if event.what == "add" and event.queue == self._queue]
        return next((at_s for at_s in adds if poll.done_at_s < at_s < following.at_s), None)
