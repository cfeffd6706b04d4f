"""The simulated provider's quota behaves as the recorded one did."""

import pytest

from simulator.provider.bucket import Quota, Refilling, Windowed, open_quotas


def chat_quota(rpm: int = 100, burst: int = 100, tpm: int = 100_000, windowed: bool = False) -> Quota:
    return open_quotas(rpm, burst, tpm, windowed, now=0.0)[0]


def test_bucket_when_a_burst_empties_it_then_refuses_until_the_next_refill() -> None:
    quota = chat_quota()
    assert [quota.ask(1, now=0.0) for _ in range(100)] == [0.0] * 100
    wait_s = quota.ask(1, now=0.0)
    assert wait_s == pytest.approx(0.6)
    assert quota.ask(1, now=wait_s) == 0
    assert quota.ask(1, now=wait_s) == pytest.approx(0.6)


def test_bucket_when_calls_come_one_at_a_time_then_99_remain_each_time() -> None:
    quota = chat_quota()
    for second in range(5):
        assert quota.ask(1, now=float(second)) == 0
        assert dict(quota.headers(float(second)))["x-ratelimit-remaining-requests"] == "99"


def test_bucket_over_a_minute_then_lets_through_the_burst_and_the_refill() -> None:
    quota = chat_quota()
    let_through = sum(quota.ask(1, now=tick / 10) == 0 for tick in range(600))
    assert let_through == pytest.approx(100 + 100, abs=1)


def test_headers_when_refused_then_say_minus_one_left() -> None:
    quota = chat_quota(rpm=10, burst=1)
    quota.ask(20, now=0.0)
    assert dict(quota.headers(0.0)) == {
        "x-ratelimit-limit-requests": "10",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-limit-tokens": "100000",
        "x-ratelimit-remaining-tokens": "99980",
    }
    assert dict(quota.headers(0.0, refused=True))["x-ratelimit-remaining-requests"] == "-1"


def test_bucket_when_tokens_run_out_then_refuses_without_charging_a_request() -> None:
    quota = chat_quota(tpm=600)
    assert quota.ask(600, now=0.0) == 0
    assert quota.ask(30, now=0.0) == pytest.approx(3.0)
    assert dict(quota.headers(0.0, refused=True))["x-ratelimit-remaining-requests"] == "99"


def test_bucket_when_a_call_is_larger_than_it_then_goes_through_once_full() -> None:
    meter = Refilling(limit=60, capacity=60, now=0.0)
    assert meter.room_in(500, now=0.0) == 0
    meter.take(500, now=0.0)
    assert meter.room_in(1, now=0.0) == pytest.approx(441)


def test_bucket_when_the_clock_stands_behind_then_does_not_lose_what_it_has() -> None:
    meter = Refilling(limit=60, capacity=10, now=100.0)
    meter.take(4, now=100.0)
    assert meter.remaining(now=50.0) == 6
    assert meter.remaining(now=101.0) == 7


def test_window_when_used_up_then_opens_a_minute_after_its_first_call() -> None:
    meter = Windowed(limit=2)
    meter.take(1, now=30.0)
    meter.take(1, now=50.0)
    assert meter.room_in(1, now=60.0) == pytest.approx(30.0)
    assert meter.room_in(1, now=90.0) == 0
    assert meter.remaining(now=90.0) == 2


def test_quotas_when_rpm_is_zero_then_nothing_is_limited_or_told() -> None:
    chat, embeddings = open_quotas(0, 0, 100_000, windowed=False, now=0.0)
    assert all(quota.ask(10**9, now=0.0) == 0 for quota in (chat, embeddings))
    assert chat.headers(0.0) == embeddings.headers(0.0) == ()


def test_quotas_of_embeddings_then_limit_tokens_only() -> None:
    _, embeddings = open_quotas(1, 1, 100, windowed=True, now=0.0)
    assert [embeddings.ask(50, now=0.0) for _ in range(2)] == [0.0, 0.0]
    assert embeddings.ask(1, now=0.0) == pytest.approx(60.0)
    assert {name for name, _ in embeddings.headers(0.0)} == {
        "x-ratelimit-limit-tokens",
        "x-ratelimit-remaining-tokens",
    }
