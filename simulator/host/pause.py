"""A pause that the stop of the host cuts short."""

import asyncio


async def stopped_within(stop: asyncio.Event, seconds: float) -> bool:
    """Wait until `stop` is set, `seconds` at most (none, if negative); true when it is set."""
    try:
        await asyncio.wait_for(stop.wait(), max(seconds, 0))
    except TimeoutError:
        return stop.is_set()
    return True
