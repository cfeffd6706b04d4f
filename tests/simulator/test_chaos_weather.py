"""The script of a chaos run: the seed decides it, and it has everything."""

from __future__ import annotations

from random import Random

from simulator.provider.weather import Weather
from tests.chaos.weather import AWAY_S, PROVIDER_MODES, WEIGHTS, Action, make_script


def script(seed: int, *, seconds: float = 60, longest_s: float = 15) -> list[Action]:
    return make_script(Random(seed), seconds=seconds, gap_s=2, longest_s=longest_s, hosts=2)


def test_script_when_the_seed_is_the_same_then_is_the_same() -> None:
    assert script(7) == script(7) != script(8)


def test_script_then_has_every_kind_in_order_of_time_within_its_length() -> None:
    actions = script(7)
    assert {action.kind for action in actions} == set(WEIGHTS)
    times = [action.at_s for action in actions]
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] < 60


def test_script_then_keeps_things_away_for_no_longer_than_allowed() -> None:
    away = [action for seed in range(20) for action in script(seed, longest_s=3) if action.kind in AWAY_S]
    assert max(action.away_s for action in away) == 3
    assert all(action.away_s == 0 for seed in range(20) for action in script(seed) if action.kind not in AWAY_S)


def test_script_then_strikes_both_hosts() -> None:
    assert {action.target for action in script(7) if action.strikes_host} == {"host 1", "host 2"}


def test_script_when_it_is_long_then_has_one_outage_that_outlasts_every_patience() -> None:
    assert [action for action in script(7) if action.kind == "lose_postgres"] == []
    [outage] = [action for action in script(7, seconds=600) if action.kind == "lose_postgres"]
    assert (outage.target, outage.away_s > 120, outage.at_s > 100) == ("postgres", True, True)


def test_provider_modes_then_are_modes_of_the_provider() -> None:
    assert len({Weather.model_validate(dict(mode)) for mode in PROVIDER_MODES}) == len(PROVIDER_MODES) - 2


def test_action_then_says_what_to_whom_and_for_how_long() -> None:
    assert str(Action(1, "freeze_host", host=1, away_s=2.5)) == "freeze_host 2 for 2.5 s"
    assert str(Action(1, "provider", mode={"mode": "outage"})) == "provider {'mode': 'outage'}"
    assert str(Action(1, "cut_connections")) == "cut_connections"
