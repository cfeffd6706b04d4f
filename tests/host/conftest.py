"""One Azurite for all tests of the host's listeners, and the timers' scenes played on it."""

import asyncio
from collections.abc import Iterator

import pytest

from simulator.stack.azurite import Azurite
from tests.host.timer_stage import Seen, play_all


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    with Azurite(tmp_path_factory.mktemp("azurite")) as running:
        yield running


@pytest.fixture(scope="session")
def seen(azurite: Azurite) -> Seen:
    """What came of each scene; the first test that asks waits for the longest of them, some 20 s."""
    return asyncio.run(play_all(azurite.connection_string))
