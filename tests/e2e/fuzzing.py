"""What the fuzzer cannot know from a document: what only the system can judge is replaced by what it takes."""

import re
from typing import Any
from uuid import uuid4

import schemathesis

# Nobody listens there.
RECEIVER = "http://127.0.0.1:9/hook"


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    """A key is new every time, a wait is short, a job's kind is one that there is, its webhook's address may be."""
    given: dict[str, Any] = dict(case.headers or {})
    if re.fullmatch("[!-~]{8,100}", str(given.get("Idempotency-Key", ""))):
        case.headers["Idempotency-Key"] = uuid4().hex
    if "Prefer" in given:
        case.headers["Prefer"] = "wait=1"
    if case.operation.label == "POST /v1/jobs" and isinstance(case.body, dict):
        body: dict[str, Any] = case.body
        if re.fullmatch("[a-z_]{1,64}", str(body.get("kind", ""))):
            body["kind"] = "support_report"
        if isinstance(body.get("input"), dict):
            body["input"] = {}
        url = body.get("webhook_url")
        if isinstance(url, str) and len(url) <= 2048 and "\0" not in url:
            body["webhook_url"] = RECEIVER
