"""Which runs of which jobs ended since a moment, read from the jobs API; and the line that sums them up."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import httpx

from simulator.tool import fetch

_PAGE = 200
_DETAILS_AT_ONCE = 8
_UNFINISHED = ("queued", "running", "waiting_for_approval")


@dataclass(frozen=True)
class Ledger:
    """The jobs that were unfinished at a moment, and the number of the newest one."""

    opened_at: datetime
    unfinished: frozenset[int]
    newest: int

    @classmethod
    async def open(cls, client: httpx.AsyncClient) -> Self:
        """Note how things stand now."""
        opened_at = datetime.now(UTC)
        newest = [job["job_id"] for job in (await fetch(client, "/v1/jobs", limit=1))["items"]]
        unfinished = [job_id for state in _UNFINISHED async for job_id in _job_ids(client, state=state)]
        return cls(opened_at, frozenset(unfinished), max(newest, default=0))

    async def outcomes(self, client: httpx.AsyncClient) -> Counter[str]:
        """How the runs that ended since then went, of old jobs and new, by history's outcome."""
        changed = set(self.unfinished)
        async for job_id in _job_ids(client):
            if job_id <= self.newest:
                break
            changed.add(job_id)
        turn = asyncio.Semaphore(_DETAILS_AT_ONCE)

        async def detail(job_id: int) -> dict[str, Any]:
            async with turn:
                job: dict[str, Any] = await fetch(client, f"/v1/jobs/{job_id}")
                return job

        return count_outcomes(await asyncio.gather(*map(detail, changed)), self.opened_at)


def count_outcomes(jobs: Iterable[dict[str, Any]], since: datetime) -> Counter[str]:
    """The outcomes of the runs in the jobs' histories that ended since then."""
    return Counter(
        run["outcome"]
        for job in jobs
        for run in job["history"]
        if run["ended_at"] and datetime.fromisoformat(run["ended_at"]) >= since
    )


def make_summary(took_s: float, outcomes: Counter[str]) -> str:
    """One line; every run is one taking of a job."""
    return (
        f"Done in {took_s:.1f} s: {outcomes.total()} taken, {outcomes['succeeded']} succeeded, "
        f"{outcomes['quota'] + outcomes['breaker']} waiting for the quota, "
        f"{outcomes['retry'] + outcomes['lost']} to retry later, "
        f"{outcomes['failed']} failed, {outcomes['dead_letter']} dead letters."
    )


async def _job_ids(client: httpx.AsyncClient, **query: str) -> AsyncIterator[int]:
    """Newest first, page by page."""
    after: dict[str, str] = {}
    while True:
        page = await fetch(client, "/v1/jobs", limit=_PAGE, **query, **after)
        for job in page["items"]:
            yield job["job_id"]
        if page["next"] is None:
            return
        after = {"after": page["next"]}
