"""Waiting for a condition instead of for an amount of time."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], *, deadline_s: float, what: str, every_s: float = 0.02) -> None:
    """Return as soon as the condition holds; after `deadline_s` raise TimeoutError that names `what`."""
    give_up_at = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"{what}: not within {deadline_s:g} s")
        time.sleep(every_s)
