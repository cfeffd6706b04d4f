"""`python -m simulator.watch --every 2 [--until-empty]`: the queue's numbers, one line per interval."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import httpx

from simulator.ledger import Ledger, make_summary
from simulator.tool import ToolError, add_address, fetch, positive, run_tool

HEADER: Final = "  time  queued  ready  running  oldest s  done/min  dead"
# An empty queue is looked for between the lines too, so that the time it took is true to the tenth.
_LOOK_EVERY_S: Final = 0.1


def make_line(at_s: float, queue: dict[str, Any]) -> str:
    """One line below HEADER, from the answer of GET /v1/queue."""
    return (
        f"{at_s:6.0f}{queue['queued']:8}{queue['ready']:7}{queue['running']:9}"
        f"{queue['oldest_queued_seconds']:10.1f}{queue['finished_last_minute']:10}{queue['dead_letter']:6}"
    )


async def main(asked: argparse.Namespace, client: httpx.AsyncClient) -> int:
    """Print lines until interrupted, or until no job is queued or running."""
    ledger = await Ledger.open(client) if asked.until_empty else None
    started = time.monotonic()
    await _watch(client, asked.every, started, until_empty=asked.until_empty)
    if ledger:
        took_s = time.monotonic() - started
        print(make_summary(took_s, await ledger.outcomes(client)))
    return 0


async def _watch(client: httpx.AsyncClient, every_s: float, started: float, *, until_empty: bool) -> None:
    queue = await fetch(client, "/v1/queue")
    print(f"{HEADER}\n{make_line(0, queue)}", flush=True)
    due_s = every_s
    while not (until_empty and queue["queued"] == queue["running"] == 0):
        at_s = time.monotonic() - started
        await asyncio.sleep(min(_LOOK_EVERY_S, due_s - at_s) if until_empty else due_s - at_s)
        at_s = time.monotonic() - started
        try:
            queue = await fetch(client, "/v1/queue")
            line = make_line(at_s, queue)
        except ToolError as error:  # a host that restarts is a thing to watch, not the end of watching
            line = f"{at_s:6.0f}  {error}"
        if at_s >= due_s:
            print(line, flush=True)
            due_s += every_s


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m simulator.watch", description=__doc__)
    parser.add_argument("--every", type=positive, default=2.0, help="seconds between the lines (%(default)g)")
    parser.add_argument("--until-empty", action="store_true", help="end when nothing is queued or running")
    add_address(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(run_tool("watch", main, parse_arguments()))
