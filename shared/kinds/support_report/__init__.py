"""The kind `support_report`: a workspace's tickets of a period, counted, summarised and drawn as a page.

asked     what a caller may say
steps     collect → batch-1 … batch-n → merges → draw → approval
prompts   what the model is asked        findings  what is believed of its answers
report    what is drawn                  charts, page (report.html.jinja, report.css)  how
"""

from __future__ import annotations

from typing import Any

from shared.artifacts import Artifact, address
from shared.kinds.kind import Kind, Outputs
from shared.kinds.support_report.asked import ReportInput
from shared.kinds.support_report.steps import plan

REPORT = "report.html"
HTML = "text/html; charset=utf-8"


def make(parallelism: int) -> Kind:
    """The kind, with so many batches of a report at work side by side."""
    return Kind(
        name="support_report",
        queue="reports",
        plan=plan,
        deadline_s=600,
        result=result,
        input=ReportInput,
        artifacts=artifacts,
        preview=preview,
        parallel=parallelism,
        yields=True,
        share="reports",
        is_cancellable=True,
    )


def result(saved: Outputs) -> dict[str, Any]:
    drawn = saved["draw"]
    return {
        "summary": drawn["summary"],
        "artifact_url": address(saved["collect"]["job_id"], REPORT, drawn["token"]),
    }


def artifacts(saved: Outputs) -> tuple[Artifact, ...]:
    drawn = saved["draw"]
    return (
        Artifact(REPORT, HTML, drawn["html"].encode(), drawn["token"]),
        Artifact("report.json", "application/json", drawn["json"].encode()),
    )


def preview(saved: Outputs) -> tuple[Artifact, ...]:
    """The page as it would be published, marked as a draft."""
    return (Artifact("preview.html", HTML, saved["draw"]["preview"].encode()),)
