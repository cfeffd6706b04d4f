"""No ticket's text and no secret in any line, span or metric, and in nothing that the host gets to write down."""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterator
from dataclasses import replace

import azure.functions as func
import httpx
import psycopg
import pytest

from shared import wiring
from shared.api.replies import replies
from shared.kinds.kind import Desk
from shared.log import JsonLines
from shared.settings import Settings
from shared.wiring import App, build
from simulator.provider.app import create_app
from simulator.provider.simulation import Simulation
from tests.ears import Ears
from tests.front import Front, fire
from tests.kinds import kind_of
from tests.receiver import Receiver, saying
from tests.report_orders import finished, order, shown
from tests.stage import Mailroom, accept, hasten

SUBJECT = "marker-of-the-subject-4f1c"
BODY = "marker-of-the-body-77aa"
NAME = "marker-of-a-customers-name-19"
API_KEY = "marker-of-the-api-key-0c3d"
WEBHOOK = "bWFya2VyLW9mLXRoZS13ZWJob29rLXNlY3JldA=="
DATABASE = "marker-of-the-password-e2"
IDEMPOTENCY_KEY = "marker-of-the-idempotency-key"
ADDRESS = "marker-of-the-webhooks-path"
WORD = "zq7hunter"  # so short that a provider who repeats it is not found out
MARKERS = (SUBJECT, BODY, WORD, NAME, API_KEY, WEBHOOK, DATABASE, IDEMPOTENCY_KEY, ADDRESS)

TICKET = {"customer_id": "C-0022", "subject": SUBJECT, "body": f"{BODY} {WORD}\n\r\x1b[31m%s %(x)d {{}} {SUBJECT}"}

pytestmark = pytest.mark.settings(
    PROVIDER_API_KEY=API_KEY, WEBHOOK_SECRET=f"whsec_{WEBHOOK}", WEBHOOK_ALLOW_PRIVATE="true"
)


class Parrot(httpx.AsyncBaseTransport):
    """A provider that repeats all it was told, headers too, in every wrong way there is; then the simulated one."""

    def __init__(self, then: Simulation) -> None:
        self.ways = [500, 429, 200, 400, 401, 403, 0, 302]
        self._then = httpx.ASGITransport(create_app(then))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        echo = f"{dict(request.headers)} {(await request.aread()).decode()}"
        match self.ways.pop(0) if self.ways else None:
            case None:
                return await self._then.handle_async_request(request)
            case 0:
                raise httpx.ReadError(echo)
            case status:
                words = {"error": {"message": f"You said {WORD}", "code": echo}, "choices": echo}
                return httpx.Response(status, json=words, headers={"X-Echo": SUBJECT, "Retry-After": "0"})


class Overheard:
    """Everything that somebody outside could read."""

    def __init__(self, caplog: pytest.LogCaptureFixture, ears: Ears) -> None:
        caplog.set_level(logging.INFO)  # as the worker sets the root; `build` sets the libraries' own
        caplog.set_level(logging.DEBUG, "larkfield")
        self._caplog = caplog
        self._ears = ears
        self._raised: list[str] = []

    async def fire(self, name: str, text: str) -> None:
        """A queue function, with the host that writes down what it raises."""
        try:
            await fire(name, func.QueueMessage(body=text.encode()))
        except Exception as exc:
            self._raised.append("".join(traceback.format_exception(exc)))

    def texts(self) -> list[str]:
        written = JsonLines()
        lines = [text for record in self._caplog.records for text in (written.format(record), repr(vars(record)))]
        return [self._caplog.text, *lines, *self._raised, *(span.to_json() for span in self._ears.spans())]

    def leaks(self) -> dict[str, list[str]]:
        texts = self.texts()
        found = {marker: [text for text in texts if marker in text] for marker in MARKERS}
        return {marker: where for marker, where in found.items() if where}


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    url = environment["DATABASE_URL"].replace("@", f":{DATABASE}@", 1)
    return {**environment, "DATABASE_URL": url}


@pytest.fixture
async def app(settings: Settings, provider: Simulation, ears: Ears) -> AsyncIterator[App]:
    http = httpx.AsyncClient(transport=Parrot(provider))
    built = await build(settings, http=http, telemetry=ears.telemetry)
    yield replace(built, worker=replace(built.worker, kick=lambda: None))
    await built.close()


@pytest.fixture
def overheard(caplog: pytest.LogCaptureFixture, ears: Ears) -> Overheard:
    return Overheard(caplog, ears)


async def round_of_work(app: App, mailroom: Mailroom, overheard: Overheard) -> None:
    await app.kick.settled()
    await app.db.execute("UPDATE provider_breakers SET is_open = false, failures = 0, retry_at = NULL, reason = NULL")
    await app.db.execute("UPDATE provider_lane SET paused_until = NULL, calls = 'infinity'")
    await hasten(app.db)
    await app.relay.run_pass(stay_s=0)
    for name, queue in (("work_ticket", mailroom.tickets), ("deliver_webhook", mailroom.webhooks)):
        for text in await mailroom.take_texts(queue):
            await overheard.fire(name, text)


async def test_tickets_when_the_provider_repeats_them_in_every_wrong_way_then_nothing_private_is_told(
    app: App, front: Front, mailroom: Mailroom, overheard: Overheard
) -> None:
    for number in range(3):
        answer = await front.post("/v1/tickets", TICKET, {"Idempotency-Key": f"{IDEMPOTENCY_KEY}-{number}"})
        assert answer.status == 202
    for _ in range(8):
        await round_of_work(app, mailroom, overheard)
    jobs = [await shown(front, job_id) for job_id in (1, 2, 3)]
    assert {job["state"] for job in jobs} == {"succeeded", "failed"}
    assert overheard.leaks() == {}


async def test_requests_when_refused_then_nothing_private_is_told(app: App, front: Front, overheard: Overheard) -> None:
    key = {"Idempotency-Key": IDEMPOTENCY_KEY}
    assert (await front.post("/v1/tickets", TICKET, key)).status == 202
    assert (await front.post("/v1/tickets", TICKET | {"body": f"other {BODY}"}, key)).status == 422
    assert (await front.post("/v1/tickets", TICKET | {"channel": SUBJECT})).status == 422
    assert (await front.post("/v1/tickets", TICKET, {"Idempotency-Key": f"{IDEMPOTENCY_KEY} \x00"})).status == 422
    raw, typed = f'{{"subject": "{SUBJECT}'.encode(), {"Content-Type": "application/json"}
    assert (await front.send("POST", f"/v1/tickets?code={API_KEY}", raw, typed)).status == 400
    assert (await front.put("/v1/customers/C-0022", {"name": NAME, "workspace_id": "team_42"})).status == 200
    assert overheard.leaks() == {}


async def test_report_with_webhook_when_its_receiver_repeats_it_then_nothing_private_is_told(
    app: App, front: Front, mailroom: Mailroom, overheard: Overheard
) -> None:
    transport: Parrot = app.http._transport  # type: ignore[assignment]  # the one that the fixture made
    transport.ways.clear()
    await accept(app, subject=SUBJECT, body=BODY)
    said = f"HTTP/1.1 500 {ADDRESS}\r\nX-Echo: {ADDRESS}\r\nContent-Length: {len(ADDRESS)}\r\n\r\n{ADDRESS}"
    async with Receiver(saying(said)) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/{ADDRESS}?token={ADDRESS}"
        job, _ = await finished(front, app, mailroom, webhook_url=url, task=f"Weekly report about {SUBJECT}")
        for _ in range(2):
            await round_of_work(app, mailroom, overheard)
        assert receiver.calls
    await order(front, webhook_url=f"http://127.0.0.1:9/{ADDRESS}")
    token = job["artifacts"][0]["url"].rpartition("token=")[2]
    await front.get(job["artifacts"][0]["url"])
    assert overheard.leaks() == {}
    assert not [text for text in overheard.texts() if token in text]


async def test_faults_of_ours_when_they_quote_what_customers_wrote_then_nothing_private_is_told(
    app: App, front: Front, mailroom: Mailroom, overheard: Overheard, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(desk: Desk) -> None:
        try:
            # Postgres quotes the whole row.
            await app.db.execute(
                "INSERT INTO tickets (customer_id, workspace_id, subject, body, channel) VALUES ('C-0022', 'team_42',"
                " %(subject)s, '', 'pigeon')",
                {"subject": SUBJECT},
            )
        except psycopg.Error as exc:
            raise ValueError(f"{BODY} does not fit") from exc

    @replies
    async def breaks(req: func.HttpRequest) -> func.HttpResponse:
        await broken(None)  # type: ignore[arg-type]  # it looks at no desk
        raise AssertionError

    await accept(app, subject=SUBJECT, body=BODY)
    monkeypatch.setattr(wiring, "_app", replace(app, worker=replace(app.worker, kinds=kind_of(broken))))
    await round_of_work(app, mailroom, overheard)
    assert (await breaks(func.HttpRequest("GET", "/", body=b""))).status_code == 500
    assert overheard.leaks() == {}
    told = "\n".join(overheard.texts())
    assert told.count("CheckViolation (SQLSTATE 23514)") >= 2  # but what it was is told, and where
    assert "in broken" in told
