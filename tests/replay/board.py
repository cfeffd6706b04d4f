"""Many scenarios side by side on one queue service, the longest first."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from tests.replay.compare import find_differences
from tests.replay.pulse import Pulse, beating_pulse
from tests.replay.scenario import Scenario
from tests.replay.stage import perform

START_GAP_S = 0.1  # opening dozens of stages at once would make the loop stand still
TRIES = 3


@dataclass(frozen=True)
class Result:
    """How a replay went; no differences means: as recorded."""

    scenario: Scenario
    differences: Sequence[str]
    tries: int


class Board:
    """Replays scenarios, at most `at_once` at a time, and repeats those that the machine has disturbed.

    When the loop or the service stands still, messages put one after the other may fall into different polls. Such
    a replay shows nothing, so it is made again; of an undisturbed one the first result counts.
    """

    def __init__(self, connection: str, at_once: int) -> None:
        self._connection = connection
        self._places = asyncio.Semaphore(at_once)
        self._numbers = count()

    async def replay(self, scenarios: Iterable[Scenario]) -> AsyncIterator[Result]:
        """Yield each result as it is there."""
        order = sorted(scenarios, key=lambda scenario: -scenario.exit_at_s)
        async with beating_pulse() as pulse:
            replays = [self._replay(scenario, pulse, nth * START_GAP_S) for nth, scenario in enumerate(order)]
            for result in asyncio.as_completed(replays):
                yield await result

    async def _replay(self, scenario: Scenario, pulse: Pulse, wait_s: float) -> Result:
        await asyncio.sleep(wait_s)
        tries = 0
        while True:
            tries += 1
            async with self._places:
                prefix = f"replay{next(self._numbers)}-"
                performance = await perform(scenario, self._connection, prefix, pulse)
            differences = find_differences(scenario, performance)
            if not differences or not performance.was_disturbed or tries == TRIES:
                return Result(scenario, differences, tries)
