"""The script of a run: which misfortune comes when. Pure: the same seed and length give the same script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal

Kind = Literal[
    "kill_host",
    "stop_host",
    "freeze_host",
    "kill_worker",
    "kill_postgres",
    "stop_postgres",
    "freeze_postgres",
    "lose_postgres",
    "cut_connections",
    "kill_azurite",
    "stop_azurite",
    "freeze_azurite",
    "cut_power",
    "provider",
]

# How often each comes, in parts; an outage that outlasts every run's patience comes once, in a long script.
WEIGHTS: dict[Kind, int] = {
    "kill_host": 8,
    "stop_host": 3,
    "freeze_host": 3,
    "kill_worker": 4,
    "kill_postgres": 3,
    "stop_postgres": 2,
    "freeze_postgres": 2,
    "cut_connections": 4,
    "kill_azurite": 4,
    "stop_azurite": 2,
    "freeze_azurite": 2,
    "cut_power": 2,
    "provider": 16,
}
# How long the thing is away or stands still, in seconds: from nothing much to well over a lease.
AWAY_S: dict[Kind, tuple[float, float]] = {
    "freeze_host": (1, 15),
    "kill_postgres": (0, 12),
    "stop_postgres": (0, 12),
    "freeze_postgres": (1, 8),
    "lose_postgres": (125, 150),
    "kill_azurite": (0, 10),
    "stop_azurite": (0, 10),
    "freeze_azurite": (1, 8),
    "cut_power": (0, 5),
}
LONG_SCRIPT_S = 600.0
FINE: Mapping[str, object] = {"mode": "normal"}
PROVIDER_MODES: tuple[Mapping[str, object], ...] = (
    FINE,
    FINE,
    FINE,
    {"mode": "slow"},
    {"mode": "outage"},
    {"mode": "error", "status": 500, "share": 0.35},
    {"mode": "error", "status": 503, "share": 0.35},
    {"mode": "error", "status": 500, "share": 0.7, "only": ["draft_reply"]},
    {"mode": "error", "status": 502, "share": 0.8, "only": ["embed"]},
    {"mode": "error", "status": 408, "share": 0.35},
    {"mode": "quota"},
    {"mode": "refuse", "retry_after": "1", "retry_after_ms": "300", "share": 0.5},
    {"mode": "refuse", "share": 0.2},
    {"mode": "garbled", "share": 0.3},
    {"mode": "stall", "share": 0.3},
    {"mode": "drop", "share": 0.3},
    {"mode": "drop", "variant": "halfway", "share": 0.3},
)


@dataclass(frozen=True)
class Action:
    """One misfortune, `at_s` seconds after the start; `host` counts from 0."""

    at_s: float
    kind: Kind
    host: int = 0
    away_s: float = 0.0
    mode: Mapping[str, object] = field(default_factory=lambda: FINE)

    @property
    def strikes_host(self) -> bool:
        """Whether it is about one of the hosts, and not about a server."""
        return self.kind.endswith(("host", "worker"))

    @property
    def target(self) -> str:
        """What it happens to, one thing at a time."""
        return f"host {self.host + 1}" if self.strikes_host else self.kind.rpartition("_")[2]

    def __str__(self) -> str:
        what = f"{self.kind} {self.host + 1}" if self.strikes_host else self.kind
        for_s = f" for {self.away_s:.1f} s" if self.away_s else ""
        mode = f" {dict(self.mode)}" if self.kind == "provider" else ""
        return f"{what}{for_s}{mode}"


def make_script(rng: Random, *, seconds: float, gap_s: float, longest_s: float, hosts: int) -> list[Action]:
    """Misfortunes at random moments, one every `gap_s` seconds on average, for `seconds` seconds.

    The first ones are one of each kind in random order, so that a script that is long enough has them all. Nothing
    is away for more than `longest_s` seconds, but for the one long outage in a script of ten minutes.
    """
    kinds = rng.sample(list(WEIGHTS), len(WEIGHTS))
    script: list[Action] = []
    at_s = rng.uniform(0, 2 * gap_s)
    while at_s < seconds:
        kind = kinds.pop() if kinds else rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        script.append(
            Action(
                at_s=at_s,
                kind=kind,
                host=rng.randrange(hosts),
                away_s=min(longest_s, rng.uniform(*AWAY_S[kind])) if kind in AWAY_S else 0.0,
                mode=rng.choice(PROVIDER_MODES),
            )
        )
        at_s += rng.uniform(0, 2 * gap_s)
    if seconds >= LONG_SCRIPT_S:
        outage = Action(rng.uniform(0.3, 0.6) * seconds, "lose_postgres", away_s=rng.uniform(*AWAY_S["lose_postgres"]))
        script.append(outage)
    return sorted(script, key=lambda action: action.at_s)
