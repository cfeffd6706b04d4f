"""The tools with which a world is made, as the auditor sees one."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.chaos.ledger import Answer, Deed, DeedKind, Ledger, Request
from tests.chaos.snapshot import Call, Change, File, Job, Letter, Message, Run, Snapshot, Step, Ticket

START = datetime(2026, 11, 29, 12, tzinfo=UTC)
ERROR = {"code": "provider_unavailable", "message": "It is down.", "at": "…", "attempt": 2}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


NOW, UP = at(1000), at(500)


def poison(job_id: int, delivery: int, **changes: Any) -> Message:
    content = {
        "job_id": job_id,
        "delivery": delivery,
        "kind": "ticket",
        "ticket_id": f"T-{500_000 + job_id}",
        "attempts": 2,
        "error": {"code": ERROR["code"], "message": ERROR["message"]},
        "dead_lettered_at": "2026-11-29T12:00:09Z",
        "request_id": None,
    } | changes
    return Message("tickets-poison", base64.b64encode(json.dumps(content).encode()).decode())


def asked(number: int, *answers: Answer, key: str | None = None) -> Request:
    """Somebody's ticket, and what they were told."""
    return Request(f"[q{number}]", key, "/v1/tickets", {"customer_id": "C-0001"}, list(answers))


class World:
    """A snapshot in the making."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.jobs: dict[int, Job] = {}
        self.tickets: dict[int, Ticket] = {}
        self.runs: list[Run] = []
        self.steps: list[Step] = []
        self.files: list[File] = []
        self.outbox: list[Letter] = []
        self.changes: list[Change] = []
        self.calls: list[Call] = []
        self.messages: list[Message] = []
        self.hidden = {"tickets": 0}
        self.is_watched = True
        self.mirror_is_due = True
        self._rows: dict[int, dict[str, Any]] = {}

    def snapshot(self) -> Snapshot:
        return Snapshot(
            taken_at=NOW,
            up_since=UP,
            is_watched=self.is_watched,
            mirror_is_due=self.mirror_is_due,
            jobs=self.jobs,
            tickets=self.tickets,
            runs=tuple(self.runs),
            steps=tuple(self.steps),
            files=tuple(self.files),
            outbox=tuple(self.outbox),
            changes=tuple(self.changes),
            calls=tuple(self.calls),
            messages=tuple(self.messages),
            hidden=self.hidden,
            ledger=self.ledger,
        )

    def add_ticket(self, job_id: int, *, key: str | None = None) -> None:
        """A ticket that was accepted, with its queued job and the letter that announces it."""
        ticket_id = 500_000 + job_id
        accepted = Answer(202, None, f"T-{ticket_id}", job_id)
        self.ledger.requests.append(asked(job_id, accepted, key=key))
        self.tickets[ticket_id] = Ticket(ticket_id, "C-0001", f"Charged twice [q{job_id}]")
        self.add_job(job_id, kind="ticket", queue="tickets", ticket_id=ticket_id)

    def add_job(self, job_id: int, *, kind: str, queue: str, webhook_url: str | None = None, **more: Any) -> None:
        """A job that has just been queued."""
        job = Job(job_id, kind, queue, None, "queued", delivery=1, run=0, attempts=0, max_attempts=2)
        self.jobs[job_id] = replace(job, **more)
        numbers = {"state": "queued", "delivery": 1, "run": 0, "attempts": 0}
        self._rows[job_id] = numbers | {"result": None, "last_error": None, "webhook_url": webhook_url}

    def move(self, job_id: int, second: float, **changes: Any) -> None:
        """Let the witness see the job's row change."""
        before = self._rows[job_id]
        after = self._rows[job_id] = before | changes
        self.changes.append(Change(at(second), "jobs", job_id, after["run"], before, after))
        fields = {name: after[name] for name in ("state", "delivery", "run", "attempts", "result", "last_error")}
        self.jobs[job_id] = replace(self.jobs[job_id], **fields)

    def claim(self, job_id: int, second: float) -> None:
        row = self._rows[job_id]
        self.move(job_id, second, state="running", run=row["run"] + 1, attempts=row["attempts"] + 1)

    def end(self, job_id: int, second: float, state: str, outcome: str, **changes: Any) -> None:
        """An arrow out of running, with its line of history."""
        row = self._rows[job_id]
        raised = row["delivery"] + (state in ("queued", "dead_letter"))
        self.move(job_id, second, state=state, delivery=raised, **changes)
        self.runs.append(Run(job_id, row["run"], row["attempts"], outcome, changes.get("last_error")))

    def save(self, job_id: int, name: str, second: float, *, is_asked: bool = True) -> None:
        """A step that was saved in the job's present run, after the provider was asked."""
        run = self._rows[job_id]["run"]
        self.calls += [Call(job_id, run, name, "200")] if is_asked else []
        row = {"name": name, "state": "succeeded", "started_at": "a", "finished_at": f"{second}", "output": {"a": 1}}
        self.changes.append(Change(at(second), "job_steps", job_id, run, {**row, "state": "running"}, row))
        self.steps.append(Step(job_id, name, "succeeded"))

    def decide(self, kind: DeedKind, job_id: int | None, second: float, **changes: Any) -> None:
        deed = Deed(kind, job_id, at(second), ended_at=at(second + 1), status=200)
        self.ledger.deeds.append(replace(deed, **changes))

    def retry(self, job_id: int, second: float) -> None:
        """A person's retry, as it should be."""
        self.decide("retry", job_id, second)
        self.move(job_id, second + 0.5, state="queued", delivery=self._rows[job_id]["delivery"] + 1, attempts=0)


Plant = Callable[[World], None]
