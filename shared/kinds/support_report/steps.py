"""The steps of a report: take the period's tickets, summarise them page by page, merge the summaries, draw."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import Any

from shared import ticket_pages
from shared.kinds.kind import Desk, Outputs, Step
from shared.kinds.support_report import findings, prompts
from shared.kinds.support_report.findings import FINDINGS, Findings
from shared.kinds.support_report.report import TAKEN, Report
from shared.names import ticket_name

PAGE_SIZE = 25  # tickets in one call: with all texts at their limits about 4,000 tokens
FAN_IN = 12  # summaries in one call: at their limits about 5,000 tokens, as a rule 2,000


def plan(saved: Outputs) -> tuple[Step, ...]:
    """All steps, as far as they are known: how many batches there are is known once the tickets are taken."""
    return _steps(len(saved["collect"]["taken"]["pages"]) if "collect" in saved else 0)


@lru_cache(maxsize=32)
def _steps(pages: int) -> tuple[Step, ...]:
    names = [f"batch-{number}" for number in range(1, pages + 1)]
    steps = [Step("collect", collect, detail="find and count the tickets of the period")]
    for page, name in enumerate(names):
        steps.append(_asking(name, partial(summarise, page=page), 1, f"batch {page + 1} of {pages}"))
    stage = 2
    while len(names) > FAN_IN:
        groups = [tuple(names[at : at + FAN_IN]) for at in range(0, len(names), FAN_IN)]
        names = [f"merge-{stage - 1}-{number}" for number in range(1, len(groups) + 1)]
        for number, (name, group) in enumerate(zip(names, groups, strict=True), 1):
            steps.append(_asking(name, partial(merge, parts=group), stage, f"merge {number} of {len(groups)}"))
        stage += 1
    if names:
        steps.append(_asking("merge", partial(merge, parts=tuple(names)), stage, "put all summaries together"))
    steps.append(Step("draw", draw, stage=stage + 1, detail="draw the report"))
    steps.append(Step("approval", stage=stage + 2, is_approval=True, detail="a person looks at the preview"))
    return tuple(steps)


def _asking(name: str, work: Callable[[Desk], Awaitable[Any]], stage: int, detail: str) -> Step:
    return Step(name, work, stage=stage, endpoint="chat", chat_calls=1, detail=detail)


async def collect(desk: Desk) -> dict[str, Any]:
    """Fix for all later runs which tickets the report is about, and count them."""
    claim = desk.claim
    asked = claim.input
    taken = await ticket_pages.take(
        desk.db,
        claim.workspace_id,
        since=asked.get("from"),
        until=asked.get("to"),
        max_tickets=asked["max_tickets"],
        page_size=PAGE_SIZE,
    )
    about = {"job_id": claim.job_id, "workspace_id": claim.workspace_id, "task": asked["task"]}
    return about | {"taken": TAKEN.dump_python(taken, mode="json")}


async def summarise(desk: Desk, *, page: int) -> dict[str, Any]:
    """The findings of one page of tickets."""
    collected = desk.saved["collect"]
    rows = await ticket_pages.texts(desk.db, collected["workspace_id"], collected["taken"]["pages"][page])
    found = Findings()
    if rows:
        answer = await desk.chat(prompts.about_page(rows, collected["task"]))
        found = findings.of_page(answer, [str(ticket_name(row.ticket_id)) for row in rows])
    return _saved(found)


async def merge(desk: Desk, *, parts: tuple[str, ...]) -> dict[str, Any]:
    """One findings of those that these steps saved."""
    found = [FINDINGS.validate_python(desk.saved[name]) for name in parts]
    found = [each for each in found if each.tickets]
    if not found:
        return _saved(Findings())
    return _saved(findings.merged(await desk.chat(prompts.about_parts(found, desk.saved["collect"]["task"])), found))


async def draw(desk: Desk) -> dict[str, Any]:
    """The finished files, and the token of the report's address: result and file have to name the same."""
    return await asyncio.to_thread(_drawn, Report.of(desk.saved), wants_preview=desk.claim.wants_approval)


def _drawn(report: Report, *, wants_preview: bool) -> dict[str, Any]:
    from shared.kinds.support_report import page  # here: most processes never draw, and its engine is slow to import

    return {
        "token": secrets.token_urlsafe(16),
        "summary": report.summary,
        "html": page.html(report),
        "json": report.json_text,
        "preview": page.html(report, is_draft=True) if wants_preview else None,
    }


def _saved(found: Findings) -> dict[str, Any]:
    saved: dict[str, Any] = FINDINGS.dump_python(found, mode="json")
    return saved
