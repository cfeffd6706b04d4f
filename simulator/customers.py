"""`python -m simulator.customers --rate 5 --seconds 4`: tickets at a steady rate, whatever the answers do."""

import argparse
import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from uuid import uuid4

import httpx

from simulator.shop import make_customers
from simulator.stories import write_story
from simulator.tool import add_address, describe, fetch, positive, run_tool, share


@dataclass
class Tally:
    """What became of the requests; `latencies` in seconds, counted from the moment a request was due."""

    accepted: int = 0
    replayed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)

    def add(self, answer: httpx.Response, latency_s: float) -> None:
        """One answer; what is not 202 counts as refused, by its error code."""
        self.latencies.append(latency_s)
        if answer.status_code != httpx.codes.ACCEPTED:
            self.refused[describe(answer)] += 1
        elif "idempotent-replayed" in answer.headers:
            self.replayed += 1
        else:
            self.accepted += 1

    def line(self) -> str:
        """All counts on one line."""
        return (
            f"{self.accepted} accepted, {self.replayed} replayed, {self.refused.total()} refused"
            f"{_by_name(self.refused)}, {self.unanswered.total()} without an answer{_by_name(self.unanswered)}"
        )

    def latency_line(self) -> str:
        """p50, p95, p99 and the longest, in milliseconds."""
        if not self.latencies:
            return "latency: no answers"
        shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
        shown = [f"{name} {1000 * percentile(self.latencies, share):.0f} ms" for name, share in shares.items()]
        return f"latency: {', '.join(shown)}"


def make_schedule(rate: float, seconds: float) -> list[float]:
    """When each request is due, in seconds from the start: `rate` a second, evenly, at least one."""
    return [number / rate for number in range(max(1, round(rate * seconds)))]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all do not exceed (nearest rank); `values` may not be empty."""
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


def write_tickets(count: int, rng: Random) -> list[dict[str, str]]:
    """Bodies of POST /v1/tickets, spread over all customers so that no limit per customer is met early."""
    customers = make_customers()
    rng.shuffle(customers)
    stories = [write_story(rng) for _ in range(count)]
    return [
        {
            "customer_id": customers[number % len(customers)].customer_id,
            "subject": story.subject,
            "body": story.body,
            "channel": story.channel,
        }
        for number, story in enumerate(stories)
    ]


async def send_all(
    client: httpx.AsyncClient, requests: Iterable[tuple[float, dict[str, str], str]], tally: Tally
) -> None:
    """Send each (due in seconds, body, Idempotency-Key) when it is due and wait for all answers."""
    started = time.monotonic()

    async def send(due: float, body: dict[str, str], key: str) -> None:
        await asyncio.sleep(started + due - time.monotonic())
        try:
            answer = await client.post("/v1/tickets", json=body, headers={"Idempotency-Key": key})
        except httpx.RequestError as error:
            tally.unanswered[type(error).__name__] += 1
        else:
            tally.add(answer, time.monotonic() - started - due)

    async with asyncio.TaskGroup() as group:
        for due, body, key in requests:
            group.create_task(send(due, body, key))


async def main(asked: argparse.Namespace, client: httpx.AsyncClient) -> int:
    """Send and report; 1 if not one request was answered."""
    rng = Random(asked.seed)
    schedule = make_schedule(asked.rate, asked.seconds)
    requests = [
        (due, body, str(uuid4())) for due, body in zip(schedule, write_tickets(len(schedule), rng), strict=True)
    ]
    requests += rng.sample(requests, round(asked.repeats * len(requests)))
    tally = Tally()
    await fetch(client, "/v1/health/live")
    started = time.monotonic()
    live = asyncio.create_task(_show_live(tally, len(requests)))
    await send_all(client, requests, tally)
    live.cancel()
    if sys.stdout.isatty():
        print()
    took_s = time.monotonic() - started
    print(f"{len(requests)} requests in {took_s:.1f} s: {tally.line()}\n{tally.latency_line()}")
    return 0 if tally.latencies else 1


async def _show_live(tally: Tally, wanted: int) -> None:
    while sys.stdout.isatty():
        answered = len(tally.latencies) + tally.unanswered.total()
        print(f"\r{answered} of {wanted}: {tally.line()}", end="", flush=True)
        await asyncio.sleep(0.2)


def _by_name(counter: Counter[str]) -> str:
    named = ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))
    return f" ({named})" if named else ""


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m simulator.customers", description=__doc__)
    parser.add_argument("--rate", type=positive, default=5.0, help="tickets a second (%(default)g)")
    parser.add_argument("--seconds", type=positive, default=4.0, help="for how long (%(default)g)")
    parser.add_argument(
        "--repeats", type=share, default=0.0, help="share of requests sent twice, as by an impatient customer"
    )
    parser.add_argument("--seed", type=int, help="the same number sends the same tickets")
    add_address(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(run_tool("customers", main, parse_arguments()))
