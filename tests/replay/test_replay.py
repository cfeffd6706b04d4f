"""Our listener against the recording of the genuine one: real times up to half a minute, longer ones shortened."""

import pytest

from simulator.stack.azurite import Azurite
from tests.replay.board import Board
from tests.replay.recording import load_scenarios
from tests.replay.shortening import shorten

AT_ONCE = 28
EXPECTED = 112


@pytest.mark.timeout(300)
async def test_listener_takes_recorded_course_in_every_scenario(azurite: Azurite) -> None:
    board = Board(azurite.connection_string, AT_ONCE)
    scenarios = [shorten(scenario) for scenario in load_scenarios().values()]
    results = [result async for result in board.replay(scenarios)]
    wrong = {result.scenario.name: result.differences for result in results if result.differences}
    assert wrong == {}
    assert len(results) == EXPECTED
