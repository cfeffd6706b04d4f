"""How long a new process takes to import the app, and which three packages take most of it.

A fresh interpreter for each try, with the packages of this environment; the best of the tries, because a cold start
cannot be faster than that. What Azure adds for a new instance is not in it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys

from benchmarks.figures import Figure, at_most
from simulator.stack.places import ROOT

MOST_S = 1.0
NAMED = 3
TIMED = "import time; at = time.perf_counter(); import function_app; print(time.perf_counter() - at)"
OURS = {"function_app", "shared"}
LINE = re.compile(r"import time: +\d+ \| +(\d+) \|( +)(\S+)")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tries", type=int, default=5)


async def measure(asked: argparse.Namespace) -> list[Figure]:
    best_s = min(float(_python("-c", TIMED).stdout) for _ in range(asked.tries))
    costs = _cost_by_package(_python("-X", "importtime", "-c", "import function_app").stderr)
    biggest = sorted(costs, key=costs.__getitem__, reverse=True)[:NAMED]
    return [
        at_most("import function_app", best_s, MOST_S, "s"),
        *(Figure(f"of that, {name} with all it imports", f"{costs[name] / 1000:.0f} ms") for name in biggest),
    ]


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)


def _cost_by_package(report: str) -> dict[str, int]:
    """Microseconds of each package that our own modules import, everything it imports first included.

    The report is written inside out, so it is read backwards: what stands deeper belongs to what was read before.
    """
    costs: dict[str, int] = {}
    inside: int | None = None
    for line in reversed(report.splitlines()):
        if match := LINE.match(line):
            cost, depth, package = int(match[1]), len(match[2]), match[3].partition(".")[0]
            if inside is not None and depth > inside:
                continue
            inside = None if package in OURS else depth
            if package not in OURS:
                name = match[3] if package == "azure" else package
                costs[name] = costs.get(name, 0) + cost
    return costs
