"""How long a listener waits after a poll that found nothing (recorded listener, R3)."""

import random


class PollWaits:
    """The growing series of waits between empty polls."""

    def __init__(self, first_s: float, longest_s: float, dice: random.Random | None = None) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._dice = dice or random.Random()
        self._empty_polls = 0
        self._at_longest = False

    def reset(self) -> None:
        """Begin the series again: a poll has found something."""
        self._empty_polls = 0
        self._at_longest = False

    def next_s(self) -> float:
        """Return the wait after one more empty poll, in seconds.

        The first is `first_s`, the n-th `first_s` x (1 + 2^(n-2) x 0.8..1.2). Once that reaches the longest
        wait, it stays there without jitter.
        """
        if self._at_longest:
            return self._longest_s
        self._empty_polls += 1
        wait_s = self._first_s
        if self._empty_polls > 1:
            wait_s += self._first_s * 2 ** (self._empty_polls - 2) * self._dice.uniform(0.8, 1.2)
        self._at_longest = wait_s >= self._longest_s
        return min(wait_s, self._longest_s)
