"""What a person sees of one ticket's way."""

from typing import Any

import httpx

from simulator.stack.ticket_walk import walk_ticket

ACCEPTED = {"ticket_id": "T-500001", "job_id": 1, "status_url": "/v1/jobs/1"}
AT = "2026-05-04T10:00:0"


def job(state: str, **changes: Any) -> dict[str, Any]:
    base = {"state": state, "created_at": f"{AT}0Z", "started_at": None, "finished_at": None, "attempts": 0}
    return {**base, "steps": [], "last_error": None, "result": None, **changes}


def step(name: str, start: str | None, end: str | None, state: str = "succeeded") -> dict[str, Any]:
    return {"name": name, "state": state, "started_at": start, "finished_at": end}


def walk(post: httpx.Response, *jobs: dict[str, Any]) -> tuple[bool, list[str]]:
    """Walk a ticket past an app that answers with these; return the verdict and the lines."""
    answers = iter(jobs)

    def app(request: httpx.Request) -> httpx.Response:
        return post if request.method == "POST" else httpx.Response(200, json=next(answers))

    lines: list[str] = []
    with httpx.Client(base_url="http://app", transport=httpx.MockTransport(app)) as client:
        return walk_ticket(client, lines.append), [" ".join(line.split()) for line in lines]


def test_walk_when_the_job_succeeds_then_every_stage_is_told_once_with_its_time() -> None:
    classified = step("classify", f"{AT}1.5Z", f"{AT}2.5Z")
    waiting = step("draft_reply", None, None, "pending")

    succeeded, lines = walk(
        httpx.Response(202, json=ACCEPTED),
        job("queued"),
        job("running", started_at=f"{AT}1Z", attempts=1, steps=[classified, waiting]),
        job("running", started_at=f"{AT}1Z", attempts=1, steps=[classified, waiting]),
        job(
            "succeeded",
            started_at=f"{AT}1Z",
            attempts=1,
            steps=[classified, step("draft_reply", f"{AT}2.5Z", f"{AT}4Z")],
            finished_at=f"{AT}4.25Z",
            result={"team": "login"},
        ),
    )

    assert succeeded
    assert lines == [
        "0.00 s accepted T-500001, job 1",
        "0.00 s queued",
        "1.00 s running attempt 1",
        "2.50 s classify succeeded, took 1.00 s",
        "4.00 s draft_reply succeeded, took 1.50 s",
        '4.25 s succeeded {"team": "login"}',
    ]


def test_walk_when_the_job_fails_then_its_reason_is_told() -> None:
    error = {"code": "bad_answer", "message": "no JSON", "at": f"{AT}2Z", "attempt": 1}
    failed = job("failed", started_at=f"{AT}1Z", attempts=1, last_error=error, finished_at=f"{AT}2Z")

    succeeded, lines = walk(httpx.Response(202, json=ACCEPTED), failed)

    assert not succeeded
    assert lines[-2:] == ["2.00 s bad_answer no JSON", "2.00 s failed"]


def test_walk_when_the_ticket_is_refused_then_the_answer_is_told() -> None:
    succeeded, lines = walk(httpx.Response(404, text="no such customer"))

    assert not succeeded
    assert lines == ["the ticket was refused: 404 no such customer"]


def test_walk_when_the_host_goes_away_then_it_says_so() -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    lines: list[str] = []
    with httpx.Client(base_url="http://app", transport=httpx.MockTransport(gone)) as client:
        assert not walk_ticket(client, lines.append)

    assert "does not answer" in lines[0]
