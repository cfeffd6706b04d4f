"""The way of one ticket, with the triggers' own calls, on real Postgres and real Azurite."""

from __future__ import annotations

from shared.models import NewTicket
from shared.wiring import App
from simulator.provider.simulation import Simulation
from tests.stage import Mailroom


async def accept(app: App, **more: str) -> int:
    new = NewTicket.model_validate({"customer_id": "C-0022", "subject": "Charged twice", **more})
    accepted = await app.intake.accept_ticket(new, request_id="r1", traceparent=None)
    return accepted.job_id


async def test_ticket_when_accepted_relayed_and_worked_then_has_its_result(
    app: App, mailroom: Mailroom, provider: Simulation
) -> None:
    job_id = await accept(app, body="Two payments for one order.")
    assert (await app.status.job(job_id))[0].state == "queued"

    await app.relay.run_pass(stay_s=0)
    [message] = await mailroom.take_texts(mailroom.tickets)
    await app.worker.work(message)

    job, ask_again_s = await app.status.job(job_id)
    assert job.state == "succeeded", job
    assert ask_again_s is None
    assert job.result is not None
    assert job.result["team"] == "billing"
    assert set(job.result) == {"team", "priority", "draft_reply", "embedding_version"}
    assert [(step.name, step.state) for step in job.steps] == [
        ("classify", "succeeded"),
        ("draft_reply", "succeeded"),
        ("embed", "succeeded"),
    ]
    assert [(run.run, run.attempt, run.outcome) for run in job.history] == [(1, 1, "succeeded")]
    ticket = await app.status.ticket(500001)
    assert (ticket.ai_state, ticket.team, ticket.draft_reply) == ("succeeded", "billing", job.result["draft_reply"])
    assert await app.db.fetch_dict("SELECT vector_dims(embedding) AS size FROM tickets") == {"size": 384}
    assert await app.db.fetch_dict("SELECT count(*) AS left FROM outbox") == {"left": 0}
