"""Sends one ticket and shows its way through the system, with times."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import httpx

DEADLINE_S = 60.0
EVERY_S = 0.05
FINAL_STATES = frozenset({"succeeded", "failed", "cancelled", "dead_letter"})
EXAMPLE = {
    "customer_id": "C-0022",
    "subject": "Cannot log in after password reset",
    "body": "The link in the mail says it has expired, although I asked for it a minute ago.",
}


def walk_ticket(client: httpx.Client, say: Callable[[str], None] = print) -> bool:
    """Send the example ticket, tell each thing that happens to its job, and return whether it succeeded."""
    try:
        return _walk(client, say)
    except httpx.HTTPError as error:
        say(f"  the functions host does not answer: {error!r}")
        return False


def _walk(client: httpx.Client, say: Callable[[str], None]) -> bool:
    answer = client.post("/v1/tickets", json=EXAMPLE)
    if answer.status_code != httpx.codes.ACCEPTED:
        say(f"  the ticket was refused: {answer.status_code} {answer.text}")
        return False
    accepted = answer.json()
    say(_line(0, "accepted", f"{accepted['ticket_id']}, job {accepted['job_id']}"))
    told: set[str] = set()
    give_up_at = time.monotonic() + DEADLINE_S
    while time.monotonic() < give_up_at:
        job = client.get(accepted["status_url"]).raise_for_status().json()
        for name, line in _happenings(job):
            if name not in told:
                told.add(name)
                say(line)
        if job["state"] in FINAL_STATES:
            return bool(job["state"] == "succeeded")
        time.sleep(EVERY_S)
    say(f"  after {DEADLINE_S:g} s the job is still {job['state']}")
    return False


def _happenings(job: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, line) for everything the job has behind it, oldest first."""
    created = job["created_at"]
    yield "queued", _line(0, "queued", "")
    if job["started_at"]:
        yield "running", _line(_seconds(created, job["started_at"]), "running", f"attempt {job['attempts']}")
    for step in job["steps"]:
        if step["finished_at"]:
            took = f"{_seconds(step['started_at'], step['finished_at']):.2f} s"
            line = _line(_seconds(created, step["finished_at"]), step["name"], f"{step['state']}, took {took}")
            yield f"{step['name']} {step['state']}", line
    error = job["last_error"]
    if error and job["state"] != "succeeded":
        yield f"error {error['at']}", _line(_seconds(created, error["at"]), error["code"], error["message"])
    if job["finished_at"]:
        detail = json.dumps(job["result"], ensure_ascii=False) if job["result"] else ""
        yield "finished", _line(_seconds(created, job["finished_at"]), job["state"], detail)


def _line(at_s: float, name: str, detail: str) -> str:
    return f"  {at_s:6.2f} s  {name:<12} {detail}".rstrip()


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
