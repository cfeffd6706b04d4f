"""One trace from the request through outbox and queue to the provider's calls."""

from __future__ import annotations

import json
from dataclasses import replace

import httpx
import pytest
from opentelemetry.trace import SpanKind, StatusCode, format_trace_id

from shared.api.asked import NewTicket
from shared.errors import BadAnswer, NotFound, Unavailable
from shared.intake import Asked
from shared.kinds.kind import Desk
from shared.settings import Settings
from shared.wiring import App, build
from shared.worker import Worker
from tests.ears import Ears, name_of, parent_of, trace_of
from tests.front import Front
from tests.kinds import kind_of
from tests.report_orders import order
from tests.report_orders import work as work_reports
from tests.stage import Mailroom, accept, announce, finish

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = f"00-{TRACE}-b7ad6b7169203331-01"
NEW = {"customer_id": "C-0022", "subject": "Charged twice"}


async def walk(app: App, front: Front, mailroom: Mailroom, worker: Worker, headers: dict[str, str]) -> int:
    """A ticket's whole way; its job's id."""
    answer = await front.post("/v1/tickets", NEW, headers)
    await app.kick.settled()
    await finish(app, mailroom, worker)
    job_id: int = answer.json()["job_id"]
    return job_id


@pytest.mark.parametrize("headers", [{}, {"traceparent": CALLER}])
async def test_ticket_when_it_goes_its_way_then_one_trace_from_the_request_to_the_providers_calls(
    app: App, front: Front, mailroom: Mailroom, worker: Worker, ears: Ears, headers: dict[str, str]
) -> None:
    await walk(app, front, mailroom, worker, headers)
    posted, sent, worked = (ears.span(name) for name in ("POST /v1/tickets", f"send {mailroom.tickets}", "process job"))
    assert {trace_of(span) for span in ears.spans()} == {TRACE if headers else trace_of(posted)}
    assert parent_of(posted) == ("b7ad6b7169203331" if headers else None)
    assert [parent_of(span) for span in (sent, worked)] == [name_of(posted), name_of(sent)]
    assert [span.kind for span in (posted, sent, worked)] == [SpanKind.SERVER, SpanKind.PRODUCER, SpanKind.CONSUMER]
    steps = [ears.span(f"step {name}") for name in ("classify", "draft_reply", "embed")]
    calls = [span for span in ears.spans() if span.kind is SpanKind.CLIENT]
    assert [parent_of(step) for step in steps] == [name_of(worked)] * 3
    assert [parent_of(call) for call in calls] == [name_of(step) for step in steps]


async def test_ticket_when_it_goes_its_way_then_every_span_says_which_job(
    app: App, front: Front, mailroom: Mailroom, worker: Worker, ears: Ears
) -> None:
    job_id = await walk(app, front, mailroom, worker, {"X-Request-Id": "req.1"})
    assert {(span.attributes or {})["job_id"] for span in ears.spans()} == {job_id}
    call = ears.span("embeddings text-embedding-3-small")
    assert call.attributes == {
        "request_id": "req.1",
        "job_id": job_id,
        "run": 1,
        "attempt": 1,
        "kind": "ticket",
        "ticket_id": "T-500001",
        "step": "embed",
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": "text-embedding-3-small",
        "host": "provider",
        "http_status": 200,
    }
    assert (ears.span("process job").attributes or {})["outcome"] == "succeeded"


async def test_ticket_when_it_goes_its_way_then_no_span_tells_what_the_exporter_would_drop(
    app: App, front: Front, mailroom: Mailroom, worker: Worker, ears: Ears
) -> None:
    await walk(app, front, mailroom, worker, {})
    told = {name for span in ears.spans() for name in span.attributes or {}}
    # Of these it makes the kind of the dependency, and its target.
    assert {name for name in told if "." in name} == {
        *("messaging.system", "messaging.operation.name", "messaging.destination.name"),
        *("gen_ai.operation.name", "gen_ai.request.model"),
    }


async def test_message_then_it_names_the_span_that_sent_it(app: App, mailroom: Mailroom, ears: Ears) -> None:
    await accept(app)
    [text] = await announce(app, mailroom)
    sent = ears.span(f"send {mailroom.tickets}")
    assert json.loads(text)["traceparent"].split("-")[1:3] == [trace_of(sent), name_of(sent)]


async def test_message_when_the_host_has_a_span_for_it_then_the_work_is_linked_to_that(
    app: App, mailroom: Mailroom, worker: Worker, ears: Ears
) -> None:
    await accept(app)
    [text] = await announce(app, mailroom)
    await worker.work(text, CALLER)
    worked = ears.span("process job")
    assert parent_of(worked) == name_of(ears.span(f"send {mailroom.tickets}"))
    assert [format_trace_id(link.context.trace_id) for link in worked.links] == [TRACE]


async def test_request_when_the_host_has_a_span_for_it_then_ours_is_a_part_of_that(app: App, ears: Ears) -> None:
    host = f"00-{TRACE}-00f067aa0ba902b7-00"  # not sampled, says the host: that is about its own
    await app.intake.accept_ticket(NewTicket.model_validate(NEW), Asked("r1", CALLER, host), key=None)
    posted = ears.span("POST /v1/tickets")
    assert (trace_of(posted), parent_of(posted), posted.kind) == (TRACE, "00f067aa0ba902b7", SpanKind.INTERNAL)


async def test_request_when_refused_then_its_span_has_the_code_and_is_no_failure_of_ours(app: App, ears: Ears) -> None:
    new = NewTicket.model_validate(NEW | {"customer_id": "C-9999"})
    with pytest.raises(NotFound):
        await app.intake.accept_ticket(new, Asked("r1"), key=None)
    posted = ears.span("POST /v1/tickets")
    assert (posted.attributes or {})["error_code"] == "not_found"
    assert posted.status.status_code is StatusCode.UNSET


async def test_call_when_the_provider_fails_then_its_spans_have_the_code_and_no_words(
    settings: Settings, mailroom: Mailroom, ears: Ears
) -> None:
    seen: list[httpx.Request] = []

    async def down(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(503, text="all about your ticket")

    app = await build(settings, http=httpx.AsyncClient(transport=httpx.MockTransport(down)), telemetry=ears.telemetry)
    try:
        await accept(app)
        [text] = await announce(app, mailroom)
        await app.worker.work(text)
    finally:
        await app.close()
    for name in ("chat gpt-4o-mini", "step classify"):
        span = ears.span(name)
        assert (span.attributes or {})["error_code"] == "provider_unavailable"
        assert (span.status.status_code, span.status.description, span.events) == (StatusCode.ERROR, None, ())
    # What is ours stays with us: the provider gets an id to ask us about, and not our trace.
    assert [request.headers.get("traceparent") for request in seen] == [None]
    assert seen[0].headers["x-client-request-id"] == "job-1/run-1/classify"


async def test_job_when_it_takes_two_runs_then_both_are_in_its_trace(
    app: App, mailroom: Mailroom, worker: Worker, ears: Ears
) -> None:
    outcomes = iter((Unavailable("The provider answered 503."), None))

    async def fails_once(desk: Desk) -> None:
        if error := next(outcomes):
            raise error

    await accept(app)
    await finish(app, mailroom, replace(worker, kinds=kind_of(fails_once)))
    runs = [span.attributes or {} for span in ears.spans() if span.name == "process job"]
    assert [(run["run"], run["attempt"], run["outcome"]) for run in runs] == [(1, 1, "queued"), (2, 2, "succeeded")]
    assert [run.get("error.type") for run in runs] == ["provider_unavailable", None]
    assert len({trace_of(span) for span in ears.spans()}) == 1


async def test_job_when_it_fails_for_good_then_its_run_is_a_failure_with_the_code(
    app: App, mailroom: Mailroom, worker: Worker, ears: Ears
) -> None:
    async def refused(desk: Desk) -> None:
        raise BadAnswer("no words of it here")

    await accept(app)
    await finish(app, mailroom, replace(worker, kinds=kind_of(refused)))
    worked = ears.span("process job")
    assert worked.status.status_code is StatusCode.ERROR
    assert {"outcome": "failed", "error.type": "bad_answer"}.items() <= dict(worked.attributes or {}).items()


async def test_report_when_its_batches_run_side_by_side_then_each_step_says_its_own_name(
    app: App, front: Front, mailroom: Mailroom, ears: Ears
) -> None:
    for _ in range(3):
        await accept(app)
    await order(front)
    await work_reports(app, mailroom)
    steps = {str((span.attributes or {})["step"]) for span in ears.spans() if span.name.startswith("step ")}
    assert {"collect", "batch-1", "draw"} <= steps
    assert {span.name for span in ears.spans() if span.name.startswith("step ")} == {
        *("step collect", "step batch", "step merge", "step draw")
    }
