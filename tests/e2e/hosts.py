"""What the tests of this folder handle: hosts by name, tickets to send, jobs to wait for, calls to count."""

from collections import Counter
from contextlib import ExitStack
from typing import Any

import httpx

from benchmarks.site import Site
from simulator.duplicates import count_calls
from simulator.stack.web_server import WebServer
from tests.stage import until

# The provider has no quota here, so the app needs to keep none.
NO_QUOTA = {"PROVIDER_CHAT_RPM": "0", "PROVIDER_CHAT_TPM": "0"}
EACH_STEP_ONCE = {"classify": 1, "draft_reply": 1, "embed": 1}
FINISHED = {"succeeded", "failed", "cancelled", "dead_letter"}


class Hosts:
    """The hosts of one site; a name asked for again is the same host, running."""

    def __init__(self, site: Site, running: ExitStack) -> None:
        self._site = site
        self._running = running
        self._hosts: dict[str, WebServer] = {}

    def start(self, name: str, *options: str, **settings: str) -> WebServer:
        """The host of that name; it is made by the first call, and started again if a test has ended it."""
        if name not in self._hosts:
            self._hosts[name] = self._site.make_host(name, *options, settings=NO_QUOTA | settings)
            self._running.callback(self._hosts[name].stop)
        host = self._hosts[name]
        host.start()
        return host

    async def that_runs(self, job_id: int) -> tuple[WebServer, WebServer]:
        """Of two hosts, the one that has begun the job, and the other one."""
        first, second = self._hosts.values()

        async def who() -> tuple[WebServer, WebServer] | None:
            if self._site.has_run(first, job_id):
                return first, second
            return (second, first) if self._site.has_run(second, job_id) else None

        found = await until(who, f"a host runs job {job_id}")
        assert found is not None
        return found

    def number_of_runs(self, name: str, job_ids: list[int]) -> int:
        """How many of the jobs this host has begun."""
        return sum(self._site.has_run(self._hosts[name], job_id) for job_id in job_ids)


def client_of(host: WebServer) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=host.url, timeout=10)


async def send_ticket(client: httpx.AsyncClient, customer_id: str = "C-0022") -> dict[str, Any]:
    """Send a ticket; what was accepted."""
    ticket = {"customer_id": customer_id, "subject": "Charged twice", "body": "Two payments for one order."}
    answer = await client.post("/v1/tickets", json=ticket)
    assert answer.status_code == 202, answer.text
    accepted: dict[str, Any] = answer.json()
    assert answer.headers["location"] == accepted["status_url"] == f"/v1/jobs/{accepted['job_id']}"
    return accepted


async def job_of(client: httpx.AsyncClient, job_id: int) -> dict[str, Any]:
    job: dict[str, Any] = (await client.get(f"/v1/jobs/{job_id}")).raise_for_status().json()
    return job


async def finished(client: httpx.AsyncClient, job_id: int) -> dict[str, Any]:
    """Wait for the job's end; the job."""

    async def at_its_end() -> dict[str, Any] | None:
        job = await job_of(client, job_id)
        return job if job["state"] in FINISHED else None

    job = await until(at_its_end, f"job {job_id} comes to its end", within_s=30)
    assert job is not None
    return job


async def step_begun(client: httpx.AsyncClient, ai: httpx.AsyncClient, job_id: int, step: str) -> None:
    """Wait until the job, the only one at work, is in the midst of a step and its call has reached the provider."""

    async def is_in_it() -> bool:
        steps = {known["name"]: known["state"] for known in (await job_of(client, job_id))["steps"]}
        return steps.get(step) == "running" and (await ai.get("/simulator/counters")).json()["in_flight"] > 0

    await until(is_in_it, f"job {job_id} begins {step}")


async def calls_for(ai: httpx.AsyncClient, job_id: int) -> Counter[str]:
    """The provider calls made for a job, by step."""
    return count_calls((await ai.get("/simulator/counters")).json()["marks"], job_id)


def outcomes(job: dict[str, Any]) -> list[str]:
    """How the job's runs ended, oldest first."""
    return [run["outcome"] for run in job["history"]]
