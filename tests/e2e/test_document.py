"""The API is what its document says: a fuzzer that reads it finds nothing else, and a client made from it works."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from simulator.stack.web_server import WebServer
from tests.e2e.hosts import Hosts

ROOT = Path(__file__).parents[2]
KEY = "the-function-key"
DOCUMENT = "/v1/openapi.json"
# SCHEMATHESIS_SECONDS=600 looks for longer, and elsewhere each time.
SECONDS = int(os.environ.get("SCHEMATHESIS_SECONDS", "0"))
LIMITS = ("--max-time", str(SECONDS)) if SECONDS else ("--max-examples", "8", "--seed", "1")
# By contract an address answers 404 to a method that it does not have; and no header is required but the key.
NOT_PROMISED = "unsupported_method,allow_header_conformance,missing_required_header"


# What somebody writes who has the generated package `larkfield` and has read no line of ours.
CUSTOMER = """
import sys

from larkfield import AuthenticatedClient
from larkfield.api.jobs import show_job
from larkfield.api.tickets import accept_ticket, list_tickets, show_ticket
from larkfield.models import Accepted, ErrorBody, JobDetail, NewTicket, Ticket

url, key = sys.argv[1:]
with AuthenticatedClient(url, key, prefix="", auth_header_name="x-functions-key") as client:
    new = NewTicket(customer_id="C-0022", subject="Charged twice", body="Two payments for one order.")
    accepted = accept_ticket.sync(client=client, body=new, idempotency_key="generated-0001")
    assert isinstance(accepted, Accepted), accepted
    job = show_job.sync(accepted.job_id, client=client)
    while job.state not in ("succeeded", "failed", "dead_letter", "cancelled"):
        job = show_job.sync(accepted.job_id, client=client, prefer="wait=5")
    assert isinstance(job, JobDetail) and job.state == "succeeded", job
    assert [step.name for step in job.steps] == ["classify", "draft_reply", "embed"]
    assert job.finished_at >= job.created_at
    ticket = show_ticket.sync(accepted.ticket_id, client=client)
    assert isinstance(ticket, Ticket) and ticket.draft_reply
    page = list_tickets.sync(client=client, customer_id="C-0022", limit=1)
    assert page.items[0].ticket_id == ticket.ticket_id
    missing = show_ticket.sync("T-1", client=client)
    assert isinstance(missing, ErrorBody) and missing.error.code == "not_found"
    print(ticket.team)
"""


@pytest.fixture
def host(hosts: Hosts) -> WebServer:
    """A host that asks for keys and refuses nobody for want of room."""
    settings = {"SIMULATOR_HOST_FUNCTION_KEY": KEY, "QUEUE_MAX": "0", "RATE_LIMIT_PER_MINUTE": "0"}
    settings["WEBHOOK_ALLOW_PRIVATE"] = "true"
    return hosts.start("host", "--enableAuth", **settings)


async def run(*command: str, folder: Path) -> tuple[int, str]:
    """Run one of this environment's programs in a folder; its exit code and all it said."""
    program = Path(sys.executable).with_name(command[0])
    process = await asyncio.create_subprocess_exec(
        *(str(program), *command[1:]),
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": "tests.e2e.fuzzing", "NO_COLOR": "1"}
        | {"PATH": os.pathsep.join((str(program.parent), os.environ["PATH"]))},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode(errors="replace")


@pytest.mark.timeout(150)
async def test_client_when_generated_from_the_document_then_a_ticket_is_sent_followed_and_found(
    host: WebServer, tmp_path: Path
) -> None:
    code, said = await run(
        *("openapi-python-client", "generate", "--url", host.url + DOCUMENT, "--meta", "none"),
        *("--output-path", str(tmp_path / "larkfield"), "--fail-on-warning"),
        folder=tmp_path,
    )
    assert code == 0, said
    (tmp_path / "customer.py").write_text(CUSTOMER, encoding="utf-8")

    code, said = await run("python", "customer.py", host.url, KEY, folder=tmp_path)

    assert (code, said.splitlines()[-1:]) == (0, ["billing"]), said


@pytest.mark.timeout(SECONDS + 240)
async def test_api_when_fuzzed_by_its_document_then_no_5xx_and_nothing_undocumented(
    host: WebServer, tmp_path: Path
) -> None:
    code, said = await run(
        *("schemathesis", "run", host.url + DOCUMENT, "--origin", host.url, "--header", f"x-functions-key:{KEY}"),
        *("--checks", "all", "--exclude-checks", NOT_PROMISED, *LIMITS, "--request-timeout", "70"),
        *("--generation-database", "none", "--continue-on-failure"),
        folder=tmp_path,
    )
    assert code == 0, said[-20_000:]
