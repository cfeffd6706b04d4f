"""The tools at the keyboard: schedules, percentiles, lines and sums; the app is a fake behind the HTTP client."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any

import httpx
import pytest

from simulator import customers, duplicates, watch
from simulator.ledger import Ledger, count_outcomes, make_summary
from simulator.tool import describe, fetch, run_tool


def fake_app(answer: Callable[[httpx.Request], httpx.Response]) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://app")


@pytest.mark.parametrize(
    ("rate", "seconds", "schedule"),
    [(5, 1, [0, 0.2, 0.4, 0.6, 0.8]), (0.5, 4, [0, 2]), (10, 0.01, [0]), (3, 0.5, [0, 1 / 3])],
)
def test_schedule_then_is_even_and_never_empty(rate: float, seconds: float, schedule: list[float]) -> None:
    assert customers.make_schedule(rate, seconds) == pytest.approx(schedule)


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_percentile_of_a_hundred_then_is_the_nearest_rank(share: float, value: float) -> None:
    values = list(range(1, 101))
    Random(3).shuffle(values)
    assert customers.percentile(values, share) == value
    assert customers.percentile([7], share) == 7


def test_tickets_when_many_then_are_spread_evenly_over_all_customers() -> None:
    bodies = customers.write_tickets(120, Random(1))
    assert set(Counter(body["customer_id"] for body in bodies).values()) == {2}


async def test_send_all_when_no_answer_comes_then_still_sends_every_request() -> None:
    arrived = 0
    all_arrived = asyncio.Event()

    async def hold_back(_: httpx.Request) -> httpx.Response:
        nonlocal arrived
        arrived += 1
        if arrived == 20:
            all_arrived.set()
        await all_arrived.wait()
        return httpx.Response(202)

    tally = customers.Tally()
    client = httpx.AsyncClient(transport=httpx.MockTransport(hold_back), base_url="http://app")
    async with asyncio.timeout(5), client:
        await customers.send_all(client, [(number / 1000, {}, str(number)) for number in range(20)], tally)
    assert tally.accepted == len(tally.latencies) == 20


async def test_send_all_when_answers_differ_then_tells_them_apart() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        match request.headers["idempotency-key"]:
            case "new":
                return httpx.Response(202)
            case "again":
                return httpx.Response(202, headers={"Idempotent-Replayed": "true"})
            case "full":
                return httpx.Response(503, json={"error": {"code": "queue_full"}})
            case "bare":
                return httpx.Response(401)
        raise httpx.ReadError("cut")

    tally = customers.Tally()
    async with fake_app(answer) as client:
        keys = ("new", "new", "again", "full", "bare", "cut")
        await customers.send_all(client, [(0.0, {}, key) for key in keys], tally)
    assert tally.line() == (
        "2 accepted, 1 replayed, 2 refused (Unauthorized 1, queue_full 1), 1 without an answer (ReadError 1)"
    )


def test_latencies_then_are_shown_in_milliseconds() -> None:
    tally = customers.Tally(latencies=[0.010, 0.012, 0.2])
    assert tally.latency_line() == "latency: p50 12 ms, p95 200 ms, p99 200 ms, max 200 ms"
    assert customers.Tally().latency_line() == "latency: no answers"


@pytest.mark.parametrize("arguments", [["--rate", "0"], ["--rate", "inf"], ["--seconds", "x"], ["--repeats", "2"]])
def test_arguments_when_impossible_then_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        customers.parse_arguments(arguments)


def test_watch_lines_then_stand_below_their_header() -> None:
    numbers = {
        "queued": 31,
        "ready": 31,
        "running": 4,
        "oldest_queued_seconds": 64.06,
        "finished_last_minute": 7,
        "dead_letter": 0,
    }
    assert watch.HEADER == "  time  queued  ready  running  oldest s  done/min  dead"
    assert watch.make_line(2.04, numbers) == "     2      31     31        4      64.1         7     0"


def test_summary_then_has_exactly_this_shape() -> None:
    assert make_summary(2.26, Counter(succeeded=1)) == (
        "Done in 2.3 s: 1 taken, 1 succeeded, 0 waiting for the quota, 0 to retry later, 0 failed, 0 dead letters."
    )
    outcomes = Counter(succeeded=5, quota=2, breaker=1, retry=3, lost=1, failed=1, dead_letter=2, cancelled=1)
    assert make_summary(60, outcomes) == (
        "Done in 60.0 s: 16 taken, 5 succeeded, 3 waiting for the quota, 4 to retry later, 1 failed, 2 dead letters."
    )


def run(outcome: str | None, ended_at: str | None) -> dict[str, Any]:
    return {"outcome": outcome, "ended_at": ended_at}


def test_outcomes_then_count_only_runs_that_ended_since() -> None:
    since = datetime(2026, 11, 29, 12, tzinfo=UTC)
    jobs: list[dict[str, Any]] = [
        {"history": [run("retry", "2026-11-29T11:59:59.999Z"), run("succeeded", "2026-11-29T12:00:00.000Z")]},
        {"history": [run("quota", "2026-11-29T12:00:01.000Z"), run(None, None)]},
        {"history": []},
    ]
    assert count_outcomes(jobs, since) == {"succeeded": 1, "quota": 1}


async def test_ledger_when_old_and_new_jobs_end_then_counts_both() -> None:
    jobs = {number: {"job_id": number, "state": "succeeded", "history": []} for number in range(1, 451)}
    jobs[7]["state"] = "queued"

    def answer(request: httpx.Request) -> httpx.Response:
        query = dict(request.url.params)
        if "limit" not in query:
            return httpx.Response(200, json=jobs[int(request.url.path.rpartition("/")[2])])
        below, limit = int(query.get("after", 10_000)), int(query["limit"])
        found = [
            jobs[number]
            for number in sorted(jobs, reverse=True)
            if number < below and query.get("state", jobs[number]["state"]) == jobs[number]["state"]
        ]
        following = str(found[limit - 1]["job_id"]) if len(found) > limit else None
        return httpx.Response(200, json={"items": found[:limit], "next": following})

    async with fake_app(answer) as client:
        ledger = await Ledger.open(client)
        assert (ledger.unfinished, ledger.newest) == (frozenset({7}), 450)
        later = "9999-12-31T00:00:00.000Z"
        jobs[7] |= {"state": "succeeded", "history": [run("retry", later), run("succeeded", later)]}
        jobs[1] |= {"history": [run("failed", later)]}  # finished before and so not looked at
        jobs |= {
            number: {"job_id": number, "state": "succeeded", "history": [run("succeeded", later)]}
            for number in range(451, 751)
        }
        assert await ledger.outcomes(client) == {"retry": 1, "succeeded": 301}


async def test_watch_when_the_queue_runs_empty_then_ends_with_the_summary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    left = [2, 1, 0]

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/queue":
            names = ("ready", "running", "oldest_queued_seconds", "finished_last_minute", "dead_letter")
            return httpx.Response(200, json=dict.fromkeys(names, 0) | {"queued": left.pop(0)})
        return httpx.Response(200, json={"items": [], "next": None})

    asked = watch.parse_arguments(["--every", "0.01", "--until-empty"])
    async with fake_app(answer) as client:
        assert await watch.main(asked, client) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == watch.HEADER
    assert [int(line.split()[1]) for line in lines[1:-1]] == [2, 1, 0]
    assert lines[-1].endswith(
        "s: 0 taken, 0 succeeded, 0 waiting for the quota, 0 to retry later, 0 failed, 0 dead letters."
    )


def test_calls_of_a_job_then_are_counted_over_all_its_runs() -> None:
    marks = {
        "job-7/run-1/classify": {"classify": {"200": 1}},
        "job-7/run-2/classify": {"classify": {"200": 1, "429": 2}},
        "job-7/run-2/embed": {"embed": {"stalled": 1}},
        "job-70/run-1/embed": {"embed": {"200": 1}},
    }
    assert duplicates.count_calls(marks, 7) == {"classify": 4, "embed": 1}


@pytest.mark.parametrize(
    ("state", "runs", "calls", "once"),
    [
        ("succeeded", 1, {"classify": 1, "draft_reply": 1, "embed": 1}, True),
        ("succeeded", 1, {"classify": 1, "draft_reply": 2, "embed": 1}, False),
        ("succeeded", 2, {"classify": 1, "draft_reply": 1, "embed": 1}, False),
        ("failed", 1, {"classify": 1}, False),
        ("succeeded", 1, {}, False),
    ],
)
def test_verdict_then_is_once_only_if_nothing_was_done_twice(
    state: str, runs: int, calls: dict[str, int], once: bool
) -> None:
    job = {"job_id": 7, "state": state, "history": [{}] * runs}
    assert duplicates.make_verdict(job, Counter(calls))[0] is once


def test_message_then_is_the_base64_of_job_and_delivery() -> None:
    assert duplicates.make_message(7) == "eyJqb2JfaWQiOiA3LCAiZGVsaXZlcnkiOiAxfQ=="


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (httpx.ConnectError("refused"), "nobody answers at http://app"),
        (httpx.Response(401), "--key"),
        (httpx.Response(503, json={"error": {"code": "database_unavailable"}}), "503: database_unavailable"),
        (httpx.Response(500, text="oops"), "500: Internal Server Error"),
    ],
)
def test_fetch_when_it_cannot_have_an_answer_then_says_why_in_one_line(
    answer: httpx.Response | Exception, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def give(_: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def work(_: object, __: object) -> int:
        async with fake_app(give) as client:
            await fetch(client, "/v1/queue")
        return 0

    assert run_tool("watch", work, watch.parse_arguments([])) == 1
    said = capsys.readouterr().err
    assert said.startswith("watch: ")
    assert problem in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("body", ["[]", '{"error": "busy"}', "{}", "rubbish", ""])
def test_describe_when_the_error_has_no_code_then_gives_the_reason_phrase(body: str) -> None:
    assert describe(httpx.Response(429, text=body)) == "Too Many Requests"
