"""A world in which every promise was kept, as the auditor sees it, and the tools to plant something in it."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.chaos.ledger import Answer, Deed, DeedKind, Ledger, Request, Sighting, Stray
from tests.chaos.snapshot import Call, Change, Job, Letter, Message, Run, Snapshot, Step, Ticket

START = datetime(2026, 11, 29, 12, tzinfo=UTC)
STEPS = ("classify", "draft_reply", "embed")
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


class World:
    """A snapshot in the making: three jobs, of which 1 succeeded after a worker was lost, 2 is a dead letter that was
    retried once before, and 3 was cancelled; all as it should be."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.jobs: dict[int, Job] = {}
        self.tickets: dict[int, Ticket] = {}
        self.runs: list[Run] = []
        self.steps: list[Step] = []
        self.outbox: list[Letter] = []
        self.changes: list[Change] = []
        self.calls: list[Call] = []
        self.messages: list[Message] = []
        self.hidden = {"tickets": 0}
        self.is_watched = True
        self.mirror_is_due = True
        self._rows: dict[int, dict[str, Any]] = {}
        self._add_succeeded()
        self._add_dead_letter()
        self._add_cancelled()
        note = Stray("ask Bob", at(1))
        self.ledger.strays.append(note)
        self.messages.append(Message("tickets-poison", note.text))

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
        self.ledger.requests.append(Request(f"[q{job_id}]", "C-0001", key, [accepted]))
        self.tickets[ticket_id] = Ticket(ticket_id, "C-0001", f"Charged twice [q{job_id}]")
        self.jobs[job_id] = Job(job_id, ticket_id, "queued", delivery=1, run=0, attempts=0, max_attempts=2)
        numbers = {"state": "queued", "delivery": 1, "run": 0, "attempts": 0}
        self._rows[job_id] = numbers | {"result": None, "last_error": None}

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

    def save(self, job_id: int, name: str, second: float, *, outcome: str = "200") -> None:
        """A step that was asked for and saved in the job's present run."""
        run = self._rows[job_id]["run"]
        self.calls.append(Call(job_id, run, name, outcome))
        row = {"name": name, "state": "succeeded", "started_at": "a", "finished_at": f"{second}", "output": {"a": 1}}
        self.changes.append(Change(at(second), "job_steps", job_id, run, {**row, "state": "running"}, row))
        self.steps.append(Step(job_id, name, "succeeded"))

    def decide(self, kind: DeedKind, job_id: int | None, second: float, **changes: Any) -> None:
        deed = Deed(kind, job_id, at(second), ended_at=at(second + 1), status=200)
        self.ledger.deeds.append(replace(deed, **changes))

    def _add_succeeded(self) -> None:
        self.add_ticket(1, key="key-1")
        self.claim(1, 1)
        self.calls.append(Call(1, 1, "classify", "200"))
        self.end(1, 10, "queued", "lost")
        self.claim(1, 11)
        for second, name in enumerate(STEPS, 12):
            self.save(1, name, second)
        result = {"team": "billing", "priority": 1, "draft_reply": "About Charged twice [q1]", "embedding_version": "e"}
        self.end(1, 15, "succeeded", "succeeded", result=result)
        published = {"team": "billing", "priority": 1, "draft_reply": result["draft_reply"], "is_embedded": True}
        self.tickets[500_001] = replace(self.tickets[500_001], **published)  # type: ignore[arg-type] # by name
        self.ledger.sightings.append(Sighting(1, "succeeded", result))

    def _add_dead_letter(self) -> None:
        self.add_ticket(2)
        for second in (0, 10):
            self.claim(2, second + 1)
            self.calls.append(Call(2, self._rows[2]["run"], "classify", "503"))
            self.end(2, second + 2, "queued", "retry", last_error=ERROR)
            self.claim(2, second + 3)
            self.calls.append(Call(2, self._rows[2]["run"], "classify", "429", times=3))
            self.end(2, second + 4, "dead_letter", "dead_letter", last_error=ERROR)
            if second == 0:
                self.retry(2, 5)
        self.messages.append(poison(2, self._rows[2]["delivery"]))

    def retry(self, job_id: int, second: float) -> None:
        """A person's retry, as it should be."""
        self.decide("retry", job_id, second)
        self.move(job_id, second + 0.5, state="queued", delivery=self._rows[job_id]["delivery"] + 1, attempts=0)

    def _add_cancelled(self) -> None:
        self.add_ticket(3)
        self.decide("cancel", 3, 2, ended_at=None, status=None)
        self.move(3, 2.5, state="cancelled")
