"""The kind `webhook`: tell a caller's system what became of a job. Its jobs are made by the database itself."""

from __future__ import annotations

import json
from typing import Any

from shared.kinds.kind import Desk, Kind, Outputs, Step

DAY_S = 86_400.0


async def deliver(desk: Desk) -> dict[str, Any]:
    """Send the event; its id and its bytes are the same at every attempt."""
    event = desk.claim.input
    body = {"type": event["type"], "timestamp": event["at"], "data": event["data"]}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    status = await desk.deliver(event["url"], f"evt_{desk.claim.job_id}", text.encode())
    return {"status": status}


def result(saved: Outputs) -> dict[str, Any]:
    return dict(saved["deliver"])


KIND = Kind(
    name="webhook",
    queue="webhooks",
    plan=lambda _: (Step("deliver", deliver),),
    deadline_s=900,
    result=result,
    max_age_s=DAY_S,
    retry_base_s=5,
    retry_cap_s=3600,
)
