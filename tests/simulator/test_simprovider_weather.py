"""How the simulated provider can be set, and what each setting does to a call."""

from collections import Counter
from typing import Any

import pytest

from simulator.provider.calls import Call
from simulator.provider.garble import VARIANTS
from simulator.provider.simulation import Plan, Simulation
from simulator.provider.weather import BadWeather, Weather, change_weather, read_turn, read_weather

CLASSIFY = Call(endpoint="chat", task="classify", model="chat-1", user="Charged twice", wants_json=True)
DRAFT = Call(endpoint="chat", task="draft_reply", model="chat-1", user="Charged twice")
EMBED = Call(endpoint="embeddings", task="embed", model="embed-1", inputs=("Charged twice",))


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def simulate(clock: Clock | None = None, **weather: Any) -> Simulation:
    stopped = clock or Clock()
    return Simulation(Weather.model_validate(weather), clock=stopped, wall=stopped)


def body_of(plan: Plan) -> dict[str, Any]:
    assert isinstance(plan.reply.body, dict)
    return plan.reply.body


def test_environment_when_set_then_makes_the_weather() -> None:
    weather = read_weather(
        {
            "PROVIDER_SIM_RPM": "0",
            "PROVIDER_SIM_LATENCY_FACTOR": "0.5",
            "PROVIDER_SIM_MODE": "outage",
            "PROVIDER_SIM_ONLY": "embed,classify",
            "PROVIDER_SIM_FIXED_SECONDS": '{"classify": 1}',
            "PROVIDER_SIM_BURST": "",
            "RPM": "7",
        }
    )
    assert (weather.rpm, weather.latency_factor, weather.mode, weather.burst) == (0, 0.5, "outage", None)
    assert weather.only == ("embed", "classify")
    assert (weather.fixed_for("classify"), weather.fixed_for("embed")) == (1, None)


def test_environment_when_a_fixed_time_is_one_number_then_counts_for_every_task() -> None:
    weather = read_weather({"PROVIDER_SIM_FIXED_SECONDS": "0.7333"})
    assert weather.fixed_for("classify") == weather.fixed_for("embed") == 0.7333


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROVIDER_SIM_RPM", "many"),
        ("PROVIDER_SIM_MODE", "fog"),
        ("PROVIDER_SIM_FIXED_SECONDS", "{"),
        ("PROVIDER_SIM_FIXED_SECONDS", "NaN"),
        ("PROVIDER_SIM_LATENCY_FACTOR", "-1"),
        ("PROVIDER_SIM_ONLY", "everything"),
    ],
)
def test_environment_when_wrong_then_the_variable_is_named(name: str, value: str) -> None:
    with pytest.raises(BadWeather, match=name):
        read_weather({name: value})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"wind": 3}, "wind"),
        ({"mode": "garbled", "variant": "upside_down"}, "no variant 'upside_down'"),
        ({"mode": "normal", "variant": "fenced"}, "no variant"),
        ({"share": 0}, "share"),
        ({"mode": "refuse", "retry_after": "2\r\nX: y"}, "retry_after"),
    ],
)
def test_change_when_wrong_then_says_what(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadWeather, match=problem):
        change_weather(Weather(), changes)


def test_turn_when_it_asks_for_a_bucket_then_is_refused() -> None:
    with pytest.raises(BadWeather, match="use refuse"):
        read_turn({"mode": "quota"})


@pytest.mark.parametrize(
    ("weather", "status", "code"),
    [
        ({"mode": "outage"}, 503, None),
        ({"mode": "error", "status": 408}, 408, None),
        ({"mode": "refuse"}, 429, "rate_limit_exceeded"),
        ({"mode": "garbled", "variant": "insufficient_quota"}, 429, "insufficient_quota"),
        ({"mode": "garbled", "variant": "wrong_key"}, 401, "invalid_api_key"),
        ({"mode": "garbled", "variant": "content_filter"}, 400, "content_filter"),
    ],
)
def test_failure_when_weather_is_bad_then_charges_no_quota_and_is_told_apart(
    weather: dict[str, Any], status: int, code: str | None
) -> None:
    plan = simulate(**weather).begin(CLASSIFY)
    assert plan.reply.status == status
    assert body_of(plan)["error"]["code"] == code
    assert dict(plan.reply.headers)["x-ratelimit-remaining-requests"] == "100"
    assert 0.4 <= plan.delay_s <= 0.7


@pytest.mark.parametrize("mode", ["outage", "error", "refuse"])
@pytest.mark.parametrize("body", ["", "busy", '{"error": "busy"}'])
def test_failure_when_its_body_is_given_then_sends_just_that(mode: str, body: str) -> None:
    assert simulate(mode=mode, body=body).begin(CLASSIFY).reply.payload() == body.encode()


def test_quota_when_a_burst_comes_then_refuses_with_both_hints(clock: Clock) -> None:
    simulation = simulate(clock, rpm=100)
    plans = [simulation.begin(CLASSIFY) for _ in range(101)]
    assert Counter(plan.reply.status for plan in plans) == {200: 100, 429: 1}
    headers = dict(plans[-1].reply.headers)
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("30", "600")
    assert headers["x-ratelimit-remaining-requests"] == "-1"
    assert body_of(plans[-1]) == {
        "error": {
            "message": "Your requests to chat-1 have exceeded request rate limit.",
            "type": "too_many_requests",
            "param": None,
            "code": "rate_limit_exceeded",
        }
    }
    clock.now += 0.6
    assert simulation.begin(CLASSIFY).reply.status == 200


def test_quota_when_in_windows_then_hints_at_the_windows_end(clock: Clock) -> None:
    simulation = simulate(clock, rpm=1, quota="window")
    simulation.begin(CLASSIFY)
    clock.now += 12.5
    headers = dict(simulation.begin(CLASSIFY).reply.headers)
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("48", "47500")


def test_quota_mode_then_has_a_tiny_bucket_for_chat_only() -> None:
    simulation = simulate(mode="quota")
    assert [simulation.begin(CLASSIFY).reply.status for _ in range(3)] == [200, 200, 429]
    assert simulation.begin(EMBED).reply.status == 200


def test_change_when_the_limits_stay_then_does_not_refill_the_bucket() -> None:
    simulation = simulate(rpm=1)
    simulation.begin(CLASSIFY)
    simulation.change(change_weather(simulation.weather, {"mode": "slow"}))
    assert simulation.begin(CLASSIFY).reply.status == 429
    simulation.change(change_weather(simulation.weather, {"rpm": 2}))
    assert simulation.begin(CLASSIFY).reply.status == 200


@pytest.mark.parametrize(
    "hint", ["2", "1.5", " 3 ", "", "-1", "NaN", "1e999", "5s", "1_000", "Fri, 31 Dec 9999 23:59:59 GMT"]
)
def test_refusal_when_a_hint_is_given_then_carries_exactly_that(hint: str) -> None:
    plan = simulate(mode="refuse", retry_after=hint).begin(CLASSIFY)
    assert [value for name, value in plan.reply.headers if name.startswith("retry-after")] == [hint]


def test_refusal_when_several_hints_are_given_then_carries_all_and_dates_them(clock: Clock) -> None:
    simulation = simulate(clock, mode="refuse", retry_after=["NOW+5 -0000", "7"], retry_after_ms="300")
    hints = [header for header in simulation.begin(CLASSIFY).reply.headers if header[0].startswith("retry")]
    assert hints == [
        ("retry-after", "Mon, 12 Jan 1970 13:46:45 -0000"),
        ("retry-after", "7"),
        ("retry-after-ms", "300"),
    ]


def test_script_when_it_has_turns_then_each_is_used_up_by_the_calls_it_concerns() -> None:
    simulation = simulate()
    simulation.play(
        [
            read_turn({"mode": "outage", "only": ["embed"]}),
            read_turn({"mode": "error", "status": 409, "times": 2}),
        ]
    )
    statuses = [simulation.begin(call).reply.status for call in (CLASSIFY, EMBED, DRAFT, CLASSIFY, EMBED)]
    assert statuses == [409, 503, 409, 200, 200]
    assert not simulation.script


def test_weather_when_only_some_tasks_are_meant_then_leaves_the_others_alone() -> None:
    simulation = simulate(mode="outage", only=["embed"])
    assert [simulation.begin(call).reply.status for call in (CLASSIFY, EMBED)] == [200, 503]


def test_weather_when_a_share_is_meant_then_hits_about_that_many() -> None:
    simulation = simulate(mode="outage", share=0.25, rpm=0)
    statuses = Counter(simulation.begin(EMBED).reply.status for _ in range(400))
    assert 70 <= statuses[503] <= 130


def test_times_when_slow_then_are_five_times_as_long() -> None:
    assert simulate(mode="slow").begin(DRAFT).delay_s == pytest.approx(5 * simulate().begin(DRAFT).delay_s)


def test_times_when_fixed_or_at_once_then_are_just_that() -> None:
    assert simulate(fixed_seconds=2.2 / 3).begin(DRAFT).delay_s == 2.2 / 3
    assert simulate(latency_factor=0).begin(DRAFT).delay_s == 0
    assert simulate(latency_factor=0, mode="outage").begin(DRAFT).delay_s == 0


@pytest.mark.parametrize(
    ("mode", "variant", "ending", "outcome"),
    [
        ("stall", None, "never", "stalled"),
        ("drop", None, "cut", "cut"),
        ("drop", "halfway", "cut_halfway", "cut"),
        ("normal", None, "whole", "200"),
    ],
)
def test_ending_in_each_mode_then_is_planned_and_counted(
    mode: str, variant: str | None, ending: str, outcome: str
) -> None:
    simulation = simulate(mode=mode, variant=variant)
    assert simulation.begin(CLASSIFY).reply.ending == ending
    assert simulation.counters.snapshot()["calls"] == {"classify": {outcome: 1}}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("call", [CLASSIFY, DRAFT, EMBED], ids=lambda call: call.task)
def test_variant_on_any_call_then_gives_a_200_that_can_be_sent(variant: str, call: Call) -> None:
    plan = simulate(mode="garbled", variant=variant).begin(call)
    assert plan.reply.status == 200
    assert plan.reply.payload()


def test_variants_then_each_spoil_some_call() -> None:
    plain = {call.task: simulate().begin(call).reply.body for call in (CLASSIFY, DRAFT, EMBED)}
    for variant in VARIANTS:
        garbled = {
            call.task: simulate(mode="garbled", variant=variant).begin(call).reply.body
            for call in (CLASSIFY, DRAFT, EMBED)
        }
        assert garbled != plain, variant


@pytest.mark.parametrize(
    ("variant", "content"),
    [
        ("fenced", '```json\n{"team": "billing", "priority": 1}\n```'),
        ("bom", '\ufeff{"team": "billing", "priority": 1}'),
        ("wrong_enum", '{"team": "marketing", "priority": "marketing"}'),
        ("duplicate_key", '{"team": "billing", "team": "billing", "priority": 1}'),
        ("nul", '{"team": "a\\u0000billing", "priority": 1}'),
        ("cut_off", '{"team": "billing'),
        ("trailing_comma", '{"team": "billing", "priority": 1,}'),
    ],
)
def test_variant_of_a_classification_then_reads(variant: str, content: str) -> None:
    choice = body_of(simulate(mode="garbled", variant=variant).begin(CLASSIFY))["choices"][0]
    assert choice["message"]["content"] == content
    assert choice["finish_reason"] == ("length" if variant == "cut_off" else "stop")


@pytest.mark.parametrize(
    ("variant", "lengths"),
    [("wrong_length", [383]), ("empty_vector", [0]), ("missing_vector", []), ("extra_vector", [384, 384])],
)
def test_variant_of_an_embedding_then_has_the_wrong_size(variant: str, lengths: list[int]) -> None:
    rows = body_of(simulate(mode="garbled", variant=variant).begin(EMBED))["data"]
    assert [len(row["embedding"]) for row in rows] == lengths


def test_garbled_when_no_variant_is_named_then_takes_each_that_fits_in_turn() -> None:
    simulation = simulate(mode="garbled", rpm=0)
    bodies = [simulation.begin(EMBED).reply.payload() for _ in range(9)]
    assert len(set(bodies)) == 9


def test_restart_then_everything_is_as_at_the_start() -> None:
    simulation = simulate(rpm=1)
    first = simulation.begin(CLASSIFY)
    simulation.change(change_weather(simulation.weather, {"mode": "outage"}))
    simulation.play([read_turn({"mode": "stall"})])
    simulation.restart()
    assert simulation.counters.snapshot()["total"] == 0
    assert simulation.begin(CLASSIFY) == first
