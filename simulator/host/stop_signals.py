"""SIGTERM and Ctrl-C: the first one begins the stop, a second one ends the process at once."""

import asyncio
import signal
from collections.abc import Callable
from types import FrameType

# SIGBREAK is Windows' own, with which a supervisor stops a console program there.
NAMES = ("SIGINT", "SIGTERM", "SIGBREAK")


def heed(stop: Callable[[], None], end_now: Callable[[int], None]) -> None:
    """Call `stop` at the first signal and `end_now`, with the exit code 128 + signal, at each later one."""
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def react(number: int) -> None:
        seen.append(number)
        if len(seen) == 1:
            stop()
        else:
            end_now(128 + number)

    def hand_over(number: int, _: FrameType | None) -> None:
        loop.call_soon_threadsafe(react, number)

    for name in NAMES:
        if number := getattr(signal, name, None):
            signal.signal(number, hand_over)
