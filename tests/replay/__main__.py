"""`python -m tests.replay [scenario ...]`: all 112 recordings at their real times, once, and a table of the results."""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from simulator.stack.azurite import Azurite
from tests.replay.board import Board, Result
from tests.replay.notes import note_on
from tests.replay.recording import load_scenarios
from tests.replay.scenario import Scenario
from tests.replay.shortening import shorten

AT_ONCE = 28


async def main(scenarios: Sequence[Scenario], folder: Path) -> int:
    """Replay the scenarios and print how each went. Returns 1 if one of them took another course."""
    longest_s = max(scenario.exit_at_s for scenario in scenarios)
    print(f"{len(scenarios)} scenarios, the longest takes {longest_s:.0f} s", flush=True)
    results = []
    with Azurite(folder / "azurite") as azurite:
        async for result in Board(azurite.connection_string, AT_ONCE).replay(scenarios):
            results.append(result)
            print(f"{len(results):4} of {len(scenarios)}: {_line(result)}", flush=True)
    print_table(results)
    return 1 if any(result.differences for result in results) else 0


def print_table(results: Sequence[Result]) -> None:
    """Print all results in the order of the recording, with what was not as recorded."""
    order = list(load_scenarios())
    print()
    for result in sorted(results, key=lambda result: order.index(result.scenario.name)):
        print(_line(result))
        for difference in result.differences:
            print(f"{'':18}{difference}")
    failed = sum(bool(result.differences) for result in results)
    print(f"\n{len(results) - failed} of {len(results)} as recorded, {failed} not.")


def _line(result: Result) -> str:
    verdict = "DIFFERS" if result.differences else "ok" if result.tries == 1 else f"ok, try {result.tries}"
    note = note_on(result.scenario)
    return f"{result.scenario.name:16}{verdict:11}{result.scenario.about}{f' [{note}]' if note else ''}"


def _choose(names: Sequence[str], is_short: bool) -> list[Scenario]:
    recorded = load_scenarios()
    chosen = [recorded[name] for name in names or recorded]
    return [shorten(scenario) for scenario in chosen] if is_short else chosen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.replay", description=__doc__)
    parser.add_argument("scenario", nargs="*", help="a name in the recording; all if there is none")
    parser.add_argument("--short", action="store_true", help="the long ones shortened, as in the test suite")
    arguments = parser.parse_args()
    if unknown := set(arguments.scenario) - load_scenarios().keys():
        parser.error(f"not in the recording: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(asyncio.run(main(_choose(arguments.scenario, arguments.short), Path(scratch))))
