"""Microsoft's own Python worker indexes and runs function_app.py, so that what the stand-in's worker accepts is right.

Needs a Python 3.13 or newer, which is looked for; PYTHON_GENUINE names another one.
"""

import base64
import json
import subprocess
import sys
from typing import Any

import pytest
from azure.storage.queue import QueueClient, QueueMessage

from simulator.stack.places import ROOT
from simulator.stack.waiting import wait_until
from tests.genuine.genuine_worker import GenuineWorker, Outcome

pytestmark = pytest.mark.timeout(300)  # the first test may have to fetch the worker library

ANONYMOUS = {"health_live", "health_ready", "show_artifact", "show_openapi"} | {
    "show_root",
    "show_dashboard",
    "show_dashboard_file",
    "show_docs",
    "show_docs_file",
}
INDEX = """
import json, function_app
functions = function_app.app.get_functions()
print(json.dumps({f.get_function_name(): list(map(json.loads, f.get_raw_bindings())) for f in functions}))
"""


def trigger(bindings: list[dict[str, Any]]) -> dict[str, Any]:
    [found] = [binding for binding in bindings if binding["type"].endswith("Trigger")]
    return found


def succeeded(outcome: Outcome, status: int) -> Any:
    """The JSON body of a good answer."""
    assert outcome.error is None
    assert outcome.http is not None
    assert outcome.http["status"] == status, outcome
    return json.loads(outcome.http["body"])


def first_message(queue: QueueClient) -> QueueMessage:
    """The intake may relay as well as the timer, so it is one of them that has put it there."""
    taken: list[QueueMessage] = []

    def has_come() -> bool:
        taken.extend(queue.receive_messages())
        return bool(taken)

    wait_until(has_come, deadline_s=10, what="the ticket's message")
    return taken[0]


def test_genuine_worker_when_it_indexes_the_app_finds_the_functions_that_we_see(worker: GenuineWorker) -> None:
    ours = subprocess.run([sys.executable, "-c", INDEX], cwd=ROOT, capture_output=True, text=True, check=True)
    assert worker.functions == json.loads(ours.stdout)
    assert {trigger(bindings)["type"] for bindings in worker.functions.values()} == {
        "httpTrigger",
        "timerTrigger",
        "queueTrigger",
    }


def test_genuine_worker_when_it_indexes_the_app_asks_for_a_key_but_for_what_the_contract_opens(
    worker: GenuineWorker,
) -> None:
    triggers = {name: trigger(bindings) for name, bindings in worker.functions.items()}
    levels = {name: found["authLevel"] for name, found in triggers.items() if found["type"] == "httpTrigger"}
    assert {name for name, level in levels.items() if level == "ANONYMOUS"} == ANONYMOUS
    assert {level for name, level in levels.items() if name not in ANONYMOUS} == {"FUNCTION"}


def test_genuine_worker_when_asked_for_its_health_answers(worker: GenuineWorker) -> None:
    assert succeeded(worker.request("health_live", "GET", "/v1/health/live"), 200)


def test_genuine_worker_when_no_route_fits_says_so_in_our_words(worker: GenuineWorker) -> None:
    body = succeeded(worker.request("zz_not_found", "GET", "/nowhere", path="nowhere"), 404)
    assert body["error"]["code"] == "not_found"


def test_genuine_worker_when_a_ticket_comes_carries_it_to_its_result(worker: GenuineWorker, database_url: str) -> None:
    storage, name = worker.environment["JobsQueue"], worker.environment["TICKET_QUEUE"]
    ticket = json.dumps({"customer_id": "C-0022", "subject": "Charged twice", "body": "Two payments for one order."})
    with QueueClient.from_connection_string(storage, name) as queue:
        queue.create_queue()
        job_id = str(succeeded(worker.request("accept_ticket", "POST", "/v1/tickets", body=ticket), 202)["job_id"])
        assert worker.fire("relay_outbox").error is None
        message = first_message(queue)
    assert worker.deliver("work_ticket", base64.b64decode(message.content).decode()).error is None

    job = succeeded(worker.request("show_job", "GET", f"/v1/jobs/{job_id}", job_id=job_id), 200)
    assert job["state"] == "succeeded", job
    told = [(line["message"], line["ticket_id"], line["attempt"]) for line in worker.lines() if line["job_id"]]
    assert (f"job {job_id}: succeeded (attempt 1)", job["ticket_id"], 1) in told


def test_genuine_worker_when_a_function_raises_reports_a_failed_run(worker: GenuineWorker) -> None:
    outcome = worker.deliver("work_ticket", "no message of ours")
    assert outcome.error is not None
    assert outcome.error.startswith("UnreadableMessage: ")
