"""The worker that everybody writes first: so many jobs at once, and after a refusal wait as told and try again."""

import asyncio
import time
from random import Random

import httpx

from simulator.customers import make_schedule, write_tickets

PLACES = 24  # as many as host.json lets a host run
PATIENCE_S = 10.0
CHAT_TASKS = ("classify", "draft_reply")


class NaiveWorker:
    """Works off tickets against a provider; `backlog` tells how many wait for a place."""

    def __init__(self, provider_url: str) -> None:
        self._provider_url = provider_url
        self._places = asyncio.Semaphore(PLACES)
        self.backlog = 0

    async def work_off(self, count: int, rate: float) -> None:
        """Do `count` tickets that come `rate` a second, each with three calls; return when all are done."""
        tickets = write_tickets(count, Random(1))
        began = time.monotonic()
        async with (
            httpx.AsyncClient(base_url=self._provider_url, timeout=PATIENCE_S) as provider,
            asyncio.TaskGroup() as jobs,
        ):
            for due_s, ticket in zip(make_schedule(rate, count / rate), tickets, strict=True):
                await asyncio.sleep(began + due_s - time.monotonic())
                jobs.create_task(self._work(provider, f"Subject: {ticket['subject']}\n\n{ticket['body']}"))

    async def _work(self, provider: httpx.AsyncClient, text: str) -> None:
        self.backlog += 1
        async with self._places:
            self.backlog -= 1
            for task in CHAT_TASKS:
                messages = [{"role": "system", "content": f"Task: {task}."}, {"role": "user", "content": text}]
                await _call(provider, "/v1/chat/completions", {"model": "gpt-4o-mini", "messages": messages})
            embedding = {"model": "text-embedding-3-small", "input": text, "dimensions": 384}
            await _call(provider, "/v1/embeddings", embedding)


async def _call(provider: httpx.AsyncClient, path: str, body: dict[str, object]) -> None:
    while True:
        answer = await provider.post(path, json=body)
        if answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
            answer.raise_for_status()
            return
        await asyncio.sleep(float(answer.headers["retry-after"]))
