"""`python -m tests.chaos --minutes 20 --seed 7`: chaos for so long, then an audit; 1 if a promise was broken."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from random import SystemRandom

from tests.chaos.run import Plan, play


def main() -> int:
    asked = parse_arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop all children on this way out, too
    seed = SystemRandom().randrange(10**6) if asked.seed is None else asked.seed
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="chaos-"))
    print(f"chaos: seed {seed}, {asked.minutes:g} min, logs in {folder}", flush=True)
    report = asyncio.run(play(Plan(seed, 60 * asked.minutes), folder, say))
    print("\n".join(report.lines()), flush=True)
    if report.violations:
        print(f"the logs stay in {folder}; again with --seed {seed}")
        return 1
    if asked.folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def say(line: str) -> None:
    print(line, flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="of chaos; calm and audit come on top (%(default)g)")
    parser.add_argument("--seed", type=int, help="brings the script of an earlier run again; printed by every run")
    parser.add_argument("--folder", type=Path, help="where data and logs go and stay (default: a temporary folder)")
    asked = parser.parse_args()
    if asked.folder and asked.folder.exists() and any(asked.folder.iterdir()):
        parser.error(f"{asked.folder} is not empty")
    return asked


if __name__ == "__main__":
    sys.exit(main())
