"""`python -m benchmarks NAME`: one benchmark on servers of its own; 1 if a figure is not what it should be."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine
from types import ModuleType

from benchmarks import (
    accept,
    backlog,
    burst,
    cold_start,
    kill,
    outage,
    overview,
    page,
    pickup,
    places,
    report,
    similar,
    waiting,
)
from benchmarks.figures import Figure, print_table

BENCHMARKS: tuple[ModuleType, ...] = (
    *(accept, burst, pickup, places, outage, kill, backlog, overview, report, similar, waiting),
    *(page, cold_start),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = parser.add_subparsers(required=True, metavar="NAME")
    for module in BENCHMARKS:
        summary = str(module.__doc__).strip()
        chosen = names.add_parser(_name(module), help=summary.splitlines()[0], description=summary)
        module.add_options(chosen)
        chosen.set_defaults(title=f"{_name(module)}: {summary.splitlines()[0]}", measure=module.measure)
    asked = parser.parse_args()
    measure: Callable[[argparse.Namespace], Coroutine[None, None, list[Figure]]] = asked.measure
    figures = asyncio.run(measure(asked))
    print_table(asked.title, figures)
    return 1 if any(figure.is_met is False for figure in figures) else 0


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


if __name__ == "__main__":
    sys.exit(main())
