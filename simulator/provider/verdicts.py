"""Refusals that no later try can change: they judge the caller or the prompt, and use no quota."""

from typing import Final

from simulator.provider.wire import Reply, failure

WRONG_KEY: Final = Reply(401, failure("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"))
VERDICTS: Final[dict[str, Reply]] = {
    "wrong_key": WRONG_KEY,
    "insufficient_quota": Reply(
        429,
        failure("You exceeded your current quota, check your plan.", "insufficient_quota", "insufficient_quota"),
    ),
    "content_filter": Reply(
        400,
        {
            "error": {
                "message": "The prompt triggered the content management policy.",
                "type": None,
                "param": "prompt",
                "code": "content_filter",
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
    ),
}
