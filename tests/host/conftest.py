"""The timers' scenes, played once for all tests that look at them."""

import asyncio

import pytest

from simulator.stack.azurite import Azurite
from tests.host.timer_stage import Seen, play_all


@pytest.fixture(scope="session")
def seen(azurite: Azurite) -> Seen:
    """What came of each scene; the first test that asks waits for the longest of them, some 20 s."""
    return asyncio.run(play_all(azurite.connection_string))
