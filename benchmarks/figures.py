"""What a benchmark prints: a table of figures beside what they should be, and the machine they come from."""

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.customers import percentile


@dataclass(frozen=True)
class Figure:
    """One line; `is_met` None where there is nothing to hold it against."""

    what: str
    value: str
    aim: str = ""
    is_met: bool | None = None


def at_most(what: str, value: float, limit: float, unit: str, *, why: str = "") -> Figure:
    """A figure that should not exceed `limit`, both in `unit`."""
    aim = f"≤ {show(limit)} {unit}" + (f" ({why})" if why else "")
    return Figure(what, f"{show(value)} {unit}".rstrip(), aim.rstrip(), value <= limit)


def at_least(what: str, value: float, limit: float, unit: str) -> Figure:
    """A figure that should reach `limit`, both in `unit`."""
    return Figure(what, f"{show(value)} {unit}".rstrip(), f"≥ {show(limit)} {unit}".rstrip(), value >= limit)


def exactly(what: str, value: int, wanted: int) -> Figure:
    """A count that must be right."""
    return Figure(what, str(value), str(wanted), value == wanted)


def milliseconds(what: str, seconds: Sequence[float], share: float) -> Figure:
    """A percentile of some times, with nothing to hold it against."""
    return Figure(what, f"{show(1000 * percentile(seconds, share))} ms")


def show(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def print_table(title: str, figures: Sequence[Figure]) -> None:
    """The figures, one a line, and whether each is what it should be."""
    verdicts = {True: "yes", False: "NO", None: ""}
    cells = [("", "measured", "aim", "met"), *((f.what, f.value, f.aim, verdicts[f.is_met]) for f in figures)]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    print(f"\n{title}\n{describe_machine()}\n")
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def describe_machine() -> str:
    """Processor, cores, how busy they are, and versions."""
    busy = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    python = f"Python {platform.python_version()}"
    return f"{_processor()}, {os.cpu_count()} cores{busy}, {platform.system()} {platform.release()}, {python}"


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", known.read_text(encoding="utf-8")) if known.exists() else None
    return found[1] if found else platform.processor() or platform.machine()
