"""Rows as callers see them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shared.api.models import Job, JobDetail, Step, Ticket
from shared.jobs.reading import JobRow, JobWay
from shared.kinds.kind import Kind
from shared.names import ticket_name
from shared.tickets import TicketRow


def ticket(row: TicketRow) -> Ticket:
    return Ticket.model_validate(asdict(row) | {"ticket_id": ticket_name(row.ticket_id)})


def job(row: JobRow) -> Job:
    return Job.model_validate(_job_fields(row))


def job_detail(row: JobWay, kind: Kind | None) -> JobDetail:
    """A job with all steps of its kind: those that no run has begun are pending."""
    planned = {step.name: {"name": step.name, "state": "pending"} for step in (kind.steps if kind else ())}
    begun = {step["name"]: step for step in row.steps}
    steps = [_step(step, row.state) for step in (planned | begun).values()]
    return JobDetail.model_validate(_job_fields(row) | {"steps": steps, "history": row.history})


def in_words(state: str) -> str:
    """A state in the middle of a sentence: "Job 2 is … ."."""
    return "a dead letter" if state == "dead_letter" else state.replace("_", " ")


def _step(step: Mapping[str, Any], job_state: str) -> Step:
    """A step that no run works at now waits for the next run, or failed with the job."""
    if step["state"] == "running" and job_state != "running":
        step = {**step, "state": "failed" if job_state in ("failed", "dead_letter") else "pending"}
    return Step.model_validate(step)


def _job_fields(row: JobRow) -> dict[str, Any]:
    return asdict(row) | {"ticket_id": ticket_name(row.ticket_id)}
