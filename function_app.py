"""Every trigger of the app, in the order of a ticket's way. Each reads its input, makes one call and answers."""

from __future__ import annotations

import azure.functions as func

from shared import log, telemetry, wiring
from shared.api import openapi, requests
from shared.api.asked import (
    ArtifactQuery,
    CustomerBody,
    Decision,
    Discard,
    JobQuery,
    NewJob,
    NewTicket,
    Redrive,
    SimilarQuery,
    TicketQuery,
)
from shared.api.numbers import Live
from shared.api.replies import accepted_reply, file_reply, json_reply, replies, reply
from shared.errors import NotFound
from shared.intake import Asked
from shared.pages.folder import DASHBOARD, to_page
from shared.pages.viewer import DOCS

telemetry.preload()
app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)


@app.route("v1/tickets", methods=["POST"])
@replies
async def accept_ticket(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    """Accept a ticket: 202 with the address of its job."""
    home = await wiring.app()
    new = requests.body(req, NewTicket)
    asked = Asked(log.request_id.get(), requests.traceparent(req), requests.host_traceparent(context))
    accepted, is_replay = await home.intake.accept_ticket(new, asked, key=requests.idempotency_key(req))
    home.kick()
    return accepted_reply(accepted, is_replay=is_replay)


@app.timer_trigger("timer", schedule="%RELAY_SCHEDULE%")
@log.sealed
async def relay_outbox(timer: func.TimerRequest) -> None:
    """Put on the queues what the outbox holds."""
    await (await wiring.app()).relay.run_pass(stay_s=wiring.TIMER_STAY_S)


@app.queue_trigger("msg", queue_name="%TICKET_QUEUE%", connection="JobsQueue")
@log.sealed
async def work_ticket(msg: func.QueueMessage, context: func.Context) -> None:
    """Do the job that the message names."""
    await (await wiring.app()).worker.work(msg.get_body().decode(), requests.host_traceparent(context))


@app.timer_trigger("timer", schedule="%SWEEP_SCHEDULE%")
@log.sealed
async def sweep_jobs(timer: func.TimerRequest) -> None:
    """Find what was lost: leases, messages, dead letters; delete what nobody needs."""
    await (await wiring.app()).sweep.run_pass()


@app.route("v1/jobs/{job_id}", methods=["GET"])
@replies
async def show_job(req: func.HttpRequest) -> func.HttpResponse:
    """One job: state, steps, history, result."""
    home = await wiring.app()
    job, ask_again_s = await home.status.job(
        requests.job_id(req), wait_s=requests.prefer_wait_s(req), seen=requests.prefer_seen(req)
    )
    if ask_again_s is not None:
        home.kick.look()
    return reply(200, job) if ask_again_s is None else reply(200, job, Retry_After=str(ask_again_s))


@app.queue_trigger("msg", queue_name="%REPORT_QUEUE%", connection="JobsQueue")
@log.sealed
async def work_report(msg: func.QueueMessage, context: func.Context) -> None:
    """Do the long job that the message names."""
    await (await wiring.app()).worker.work(msg.get_body().decode(), requests.host_traceparent(context))


@app.queue_trigger("msg", queue_name="%WEBHOOK_QUEUE%", connection="JobsQueue")
@log.sealed
async def deliver_webhook(msg: func.QueueMessage, context: func.Context) -> None:
    """Tell a caller's system what became of its job."""
    await (await wiring.app()).worker.work(msg.get_body().decode(), requests.host_traceparent(context))


@app.route("v1/jobs", methods=["POST"])
@replies
async def accept_job(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    """Accept a long job: 202 with its address."""
    home = await wiring.app()
    new = requests.body(req, NewJob)
    asked = Asked(log.request_id.get(), requests.traceparent(req), requests.host_traceparent(context))
    accepted, is_replay = await home.intake.accept_job(new, asked, key=requests.idempotency_key(req))
    home.kick()
    return accepted_reply(accepted, is_replay=is_replay)


@app.route("v1/jobs", methods=["GET"])
@replies
async def list_jobs(req: func.HttpRequest) -> func.HttpResponse:
    """Jobs, newest first."""
    return reply(200, await (await wiring.app()).status.jobs(requests.query(req, JobQuery)))


@app.route("v1/jobs/{job_id}/cancel", methods=["POST"])
@replies
async def cancel_job(req: func.HttpRequest) -> func.HttpResponse:
    """Cancel a job that no worker has yet, or ask the worker to stop."""
    requests.no_body(req)
    job, is_done = await (await wiring.app()).decisions.cancel(requests.job_id(req))
    return reply(200 if is_done else 202, job)


@app.route("v1/jobs/{job_id}/approve", methods=["POST"])
@replies
async def approve_job(req: func.HttpRequest) -> func.HttpResponse:
    """Let a job go on that waits for approval."""
    home = await wiring.app()
    job = await home.decisions.approve(requests.job_id(req), requests.body(req, Decision))
    home.kick()
    return reply(200, job)


@app.route("v1/jobs/{job_id}/reject", methods=["POST"])
@replies
async def reject_job(req: func.HttpRequest) -> func.HttpResponse:
    """End a job that waits for approval."""
    home = await wiring.app()
    job = await home.decisions.reject(requests.job_id(req), requests.body(req, Decision))
    home.kick()
    return reply(200, job)


@app.route("v1/artifacts/{job_id}/{name}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@replies
async def show_artifact(req: func.HttpRequest) -> func.HttpResponse:
    """A file that a job made, for who has its token."""
    file = await (await wiring.app()).status.artifact(
        requests.job_id(req), req.route_params["name"], requests.query(req, ArtifactQuery).token
    )
    return file_reply(req, file)


@app.route("v1/jobs/{job_id}/retry", methods=["POST"])
@replies
async def retry_job(req: func.HttpRequest) -> func.HttpResponse:
    """Put a dead letter or a failed job back on the queue."""
    requests.no_body(req)
    home = await wiring.app()
    job = await home.decisions.retry(requests.job_id(req))
    home.kick()
    return reply(200, job)


@app.route("v1/jobs/{job_id}/discard", methods=["POST"])
@replies
async def discard_job(req: func.HttpRequest) -> func.HttpResponse:
    """Throw a dead letter away."""
    home = await wiring.app()
    job = await home.decisions.discard(requests.job_id(req), requests.body(req, Discard))
    home.kick()
    return reply(200, job)


@app.route("v1/dead-letters/retry", methods=["POST"])
@replies
async def retry_dead_letters(req: func.HttpRequest) -> func.HttpResponse:
    """Put dead letters, or failed jobs, back on the queue by a filter."""
    home = await wiring.app()
    redriven = await home.decisions.retry_many(requests.optional_body(req, Redrive))
    home.kick()
    return reply(200, redriven)


@app.route("v1/tickets/{ticket_id}", methods=["GET"])
@replies
async def show_ticket(req: func.HttpRequest) -> func.HttpResponse:
    """One ticket with the result of its AI work."""
    return reply(200, await (await wiring.app()).status.ticket(requests.ticket_id(req)))


@app.route("v1/tickets/{ticket_id}/similar", methods=["GET"])
@replies
async def similar_tickets(req: func.HttpRequest) -> func.HttpResponse:
    """The tickets of its workspace that are most like this one."""
    home = await wiring.app()
    found = await home.status.similar(requests.ticket_id(req), requests.query(req, SimilarQuery))
    return reply(200, found)


@app.route("v1/tickets", methods=["GET"])
@replies
async def list_tickets(req: func.HttpRequest) -> func.HttpResponse:
    """Tickets, newest first."""
    return reply(200, await (await wiring.app()).status.tickets(requests.query(req, TicketQuery)))


@app.route("v1/customers/{customer_id}", methods=["PUT"])
@replies
async def put_customer(req: func.HttpRequest) -> func.HttpResponse:
    """Create or replace a customer."""
    body = requests.body(req, CustomerBody)
    customer, is_new = await (await wiring.app()).status.put_customer(requests.customer_id(req), body)
    return reply(201 if is_new else 200, customer)


@app.route("v1/queue", methods=["GET"])
@replies
async def show_queue(req: func.HttpRequest) -> func.HttpResponse:
    """The queue's numbers."""
    return reply(200, await (await wiring.app()).glance.get())


@app.route("v1/health/live", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@replies
async def health_live(req: func.HttpRequest) -> func.HttpResponse:
    """This process answers; nothing else is touched."""
    return reply(200, Live())


@app.route("v1/health/ready", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@replies
async def health_ready(req: func.HttpRequest) -> func.HttpResponse:
    """Whether tickets can be accepted."""
    ready = await (await wiring.app()).overview.ready()
    return reply(200 if ready.ready else 503, ready)


@app.route("v1/openapi.json", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@replies
async def show_openapi(req: func.HttpRequest) -> func.HttpResponse:
    """This API as an OpenAPI document."""
    return json_reply(200, openapi.document_text())


@app.route("/", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@replies
async def show_root(req: func.HttpRequest) -> func.HttpResponse:
    """The bare address leads to the dashboard."""
    return to_page("/dashboard")


@app.route("dashboard", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@replies
async def show_dashboard(req: func.HttpRequest) -> func.HttpResponse:
    """The page for people."""
    return DASHBOARD.reply(req, "index.html")


@app.route("dashboard/{name}", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@replies
async def show_dashboard_file(req: func.HttpRequest) -> func.HttpResponse:
    """The page's styles and scripts."""
    return DASHBOARD.reply(req, req.route_params["name"])


@app.route("docs", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@replies
async def show_docs(req: func.HttpRequest) -> func.HttpResponse:
    """The API to read and to try."""
    return DOCS.reply(req, "index.html")


@app.route("docs/{name}", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@replies
async def show_docs_file(req: func.HttpRequest) -> func.HttpResponse:
    """The viewer's scripts and styles."""
    return DOCS.reply(req, req.route_params["name"])


@app.route("{*path}")
@replies
async def zz_not_found(req: func.HttpRequest) -> func.HttpResponse:
    """Everything else. The host tries routes in the order of function names, so this one's must sort last."""
    raise NotFound("There is nothing at this address, or not for this method.")
