"""The shapes that go over the wire: completions, embeddings, errors, and how an answer may end."""

import base64
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from simulator.provider.calls import Call, count_tokens

Body = dict[str, Any]
Headers = tuple[tuple[str, str], ...]
# whole = as it should be; never = the client gives up; cut = connection closed before the answer or within it
Ending = Literal["whole", "never", "cut", "cut_halfway"]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, ready to send; a `body` that is text goes out as it is."""

    status: int
    body: Body | str
    headers: Headers = ()
    ending: Ending = "whole"

    def payload(self) -> bytes:
        """The body's bytes."""
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()

    def outcome(self) -> str:
        """How the counters name it: the status, or what became of an answer that never arrived whole."""
        return {"whole": str(self.status), "never": "stalled"}.get(self.ending, "cut")


def completion(call: Call, content: str, number: int, created: int) -> Body:
    """A chat completion, cut off at the caller's `max_tokens`; `number` makes its id, `created` is Unix."""
    finish_reason = "stop"
    if call.max_tokens is not None and count_tokens(content) > call.max_tokens:
        content, finish_reason = content[: call.max_tokens * 4], "length"
    return {
        "id": f"chatcmpl-sim-{number}",
        "object": "chat.completion",
        "created": created,
        "model": call.model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": None},
                "finish_reason": finish_reason,
            }
        ],
        "usage": _usage(call.prompt_tokens, count_tokens(content)),
    }


def embeddings(call: Call, vectors: Sequence[Sequence[float]]) -> Body:
    """Vectors in the order of the inputs; as base64 of little-endian floats where the caller wants that."""
    return {
        "object": "list",
        "data": [
            {
                "object": "embedding",
                "index": index,
                "embedding": _packed(vector) if call.wants_base64 else list(vector),
            }
            for index, vector in enumerate(vectors)
        ],
        "model": call.model,
        "usage": _usage(call.prompt_tokens, 0),
    }


def failure(message: str, kind: str, code: str | None, param: str | None = None) -> Body:
    """The error envelope of the API."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def rate_limit_body(model: str) -> Body:
    """The recorded body of a refusal."""
    return failure(
        f"Your requests to {model} have exceeded request rate limit.",
        "too_many_requests",
        "rate_limit_exceeded",
    )


def _usage(prompt_tokens: int, completion_tokens: int) -> Body:
    usage = {"prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens + completion_tokens}
    return usage | ({"completion_tokens": completion_tokens} if completion_tokens else {})


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
