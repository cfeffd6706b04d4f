"""What several tests look at: the timers' scenes, played once, and a host that only serves HTTP."""

import asyncio
from collections.abc import Iterator

import pytest

from simulator.stack.azurite import Azurite
from tests.host.running_host import RunningHost
from tests.host.timer_stage import Seen, play_all


@pytest.fixture(scope="session")
def http_host() -> Iterator[RunningHost]:
    """A host of the `http` app that asks for no keys."""
    settings = {"AzureWebJobs.switched_off.Disabled": "true", "FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": "1000"}
    with RunningHost("http", settings=settings) as host:
        yield host


@pytest.fixture(scope="session")
def seen(azurite: Azurite) -> Seen:
    """What came of each scene; the first test that asks waits for the longest of them, some 20 s."""
    return asyncio.run(play_all(azurite.connection_string))
