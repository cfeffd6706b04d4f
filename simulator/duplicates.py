"""`python -m simulator.duplicates`: one ticket, its message five times more, and still one set of provider calls."""

import argparse
import asyncio
import base64
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import httpx
from azure.core.exceptions import AzureError, ResourceExistsError
from azure.storage.queue.aio import QueueClient

from simulator.tool import ToolError, add_address, describe, fetch, run_tool

COPIES: Final = 5
PATIENCE_S: Final = 60.0
_FINAL_STATES: Final = frozenset({"succeeded", "failed", "cancelled", "dead_letter"})
_TICKET: Final = {
    "customer_id": "C-0022",
    "subject": "Charged twice",
    "body": "Two payments for one order.",
}


def make_message(job_id: int, delivery: int = 1) -> str:
    """The job's queue message as the app sends it; a new job's first delivery is 1."""
    return base64.b64encode(json.dumps({"job_id": job_id, "delivery": delivery}).encode()).decode()


def count_calls(marks: Mapping[str, Mapping[str, Mapping[str, int]]], job_id: int) -> Counter[str]:
    """A job's provider calls by task, from the `marks` of the provider's counters (`job-7/run-1/classify`)."""
    calls: Counter[str] = Counter()
    for mark, tasks in marks.items():
        if mark.split("/")[0] == f"job-{job_id}":
            calls.update({task: sum(outcomes.values()) for task, outcomes in tasks.items()})
    return calls


def make_verdict(job: Mapping[str, Any], calls: Counter[str]) -> tuple[bool, str]:
    """Whether the work was done just once, and the sentence that says so."""
    once = job["state"] == "succeeded" and len(job["history"]) == 1 and set(calls.values()) == {1}
    counted = ", ".join(f"{task} {count}" for task, count in sorted(calls.items())) or "none"
    return once, (
        f"job {job['job_id']}: {job['state']} after {1 + COPIES} messages, {len(job['history'])} run(s), "
        f"provider calls: {counted}. {'Done once.' if once else 'NOT done once!'}"
    )


async def main(asked: argparse.Namespace, client: httpx.AsyncClient) -> int:
    """Send, wait and count; 1 if the work was done more than once, or not at all."""
    async with (
        httpx.AsyncClient(base_url=asked.provider) as provider,
        QueueClient.from_connection_string(asked.storage, asked.queue) as queue,
    ):
        await fetch(provider, "/simulator/counters")
        job_id = await _send_ticket(client)
        print(f"job {job_id}: sending its message {COPIES} times more")
        await _send_copies(queue, job_id)
        await _wait_for_end(client, job_id)
        await _wait_for_empty(queue)
        marks = (await fetch(provider, "/simulator/counters"))["marks"]
        job = await fetch(client, f"/v1/jobs/{job_id}")
    once, verdict = make_verdict(job, count_calls(marks, job_id))
    print(verdict)
    return 0 if once else 1


async def _send_ticket(client: httpx.AsyncClient) -> int:
    await fetch(client, "/v1/health/live")
    answer = await client.post("/v1/tickets", json=_TICKET)
    if answer.status_code != httpx.codes.ACCEPTED:
        raise ToolError(f"the ticket was refused: {answer.status_code} {describe(answer)}")
    return int(answer.json()["job_id"])


async def _send_copies(queue: QueueClient, job_id: int) -> None:
    try:
        with suppress(ResourceExistsError):  # the app makes it with its first message, which may not have come yet
            await queue.create_queue()
        for _ in range(COPIES):
            await queue.send_message(make_message(job_id))
    except AzureError as error:
        raise ToolError(f"the queue {queue.url} takes no message ({type(error).__name__})") from error


async def _wait_for_end(client: httpx.AsyncClient, job_id: int) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while (job := await fetch(client, f"/v1/jobs/{job_id}"))["state"] not in _FINAL_STATES:
        if time.monotonic() > give_up_at:
            raise ToolError(f"job {job_id} is still {job['state']} after {PATIENCE_S:g} s; does a worker run?")
        await asyncio.sleep(0.1)


async def _wait_for_empty(queue: QueueClient) -> None:
    """Until the copies are gone too; other people's messages are not waited for longer than a while."""
    give_up_at = time.monotonic() + PATIENCE_S / 6
    while time.monotonic() < give_up_at:
        if not (await queue.get_queue_properties()).approximate_message_count:
            return
        await asyncio.sleep(0.1)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m simulator.duplicates", description=__doc__)
    add_address(parser)
    parser.add_argument("--provider", default="http://127.0.0.1:8300", help="the simulated provider (%(default)s)")
    parser.add_argument("--queue", default=os.environ.get("TICKET_QUEUE", "tickets"), help="%(default)s")
    parser.add_argument(
        "--storage",
        default=os.environ.get("JobsQueue", "UseDevelopmentStorage=true"),  # noqa: SIM112 - the trigger's own spelling
        help="connection string of the queue's account (JobsQueue, or the local emulator)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(run_tool("duplicates", main, parse_arguments()))
