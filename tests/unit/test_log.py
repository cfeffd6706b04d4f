"""The loggers' names, and the request a line belongs to."""

from __future__ import annotations

import asyncio

from shared import log


def test_logger_then_below_the_apps_name() -> None:
    assert log.logger("relay").name == "larkfield.relay"


async def test_request_id_when_two_requests_run_at_once_then_each_sees_its_own() -> None:
    both_are_in = asyncio.Barrier(2)

    async def handle(request_id: str) -> str:
        log.request_id.set(request_id)
        await both_are_in.wait()
        return log.request_id.get()

    tasks = [asyncio.create_task(handle(request_id)) for request_id in ("a", "b")]
    assert await asyncio.gather(*tasks) == ["a", "b"]
    assert log.request_id.get() == "-"
