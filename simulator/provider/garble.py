"""Answers gone wrong in the ways that have been seen in the field, each under a name.

A variant spoils the body of a good answer; one that does not fit a call (a vector's fault, a chat) leaves it.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from simulator.provider.calls import Call
from simulator.provider.wire import Body

_Spoil = Callable[[Body], Body]
_Rubbish = Callable[[Body], Body | str]


def spoil(call: Call, body: Body, variant: str) -> Body | str:
    """The body of a good answer to `call`, spoilt by `variant`; text instead of a body goes out as it is."""
    spoiler = _variants_for(call).get(variant)
    return spoiler(body) if spoiler else body


def choose_variant(call: Call, turn: int) -> str:
    """One of the variants that fit a call, the next at every `turn`."""
    fitting = list(_variants_for(call))
    return fitting[turn % len(fitting)]


def _variants_for(call: Call) -> Mapping[str, _Rubbish]:
    if call.endpoint == "embeddings":
        return _VECTOR_VARIANTS
    return _JSON_VARIANTS | _CHAT_VARIANTS if call.wants_json else _CHAT_VARIANTS


def _content(change: Callable[[str], str]) -> _Spoil:
    def spoiler(body: Body) -> Body:
        choice = body["choices"][0]
        message = choice["message"] | {"content": change(choice["message"]["content"])}
        return body | {"choices": [choice | {"message": message}]}

    return spoiler


def _choice(finish_reason: str, message: Body) -> _Spoil:
    return lambda body: (
        body | {"choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant"} | message}]}
    )


def _cut_off(body: Body) -> Body:
    halved = _content(lambda text: text[: len(text) // 2])(body)
    return _finished_by_length(halved)


def _finished_by_length(body: Body) -> Body:
    return body | {"choices": [body["choices"][0] | {"finish_reason": "length"}]}


def _wrong_values(text: str) -> str:
    return json.dumps(dict.fromkeys(json.loads(text), "marketing"))


def _with_key_twice(text: str) -> str:
    name, value = next(iter(json.loads(text).items()))
    return f"{{{json.dumps(name)}: {json.dumps(value)}, {text[1:]}"


def _with_nul(text: str) -> str:
    if not text.startswith("{"):
        return text.replace(" ", " \0", 1)
    values = json.loads(text)
    return json.dumps({name: f"a\0{value}" if isinstance(value, str) else value for name, value in values.items()})


def _vectors(change: Callable[[list[Body]], list[Body]]) -> _Spoil:
    return lambda body: body | {"data": change(body["data"])}


def _first_vector(change: Callable[[Any], Any]) -> _Spoil:
    return _vectors(lambda rows: [rows[0] | {"embedding": change(rows[0]["embedding"])}, *rows[1:]])


_JSON_VARIANTS: Final[dict[str, _Rubbish]] = {
    "fenced": _content("```json\n{}\n```".format),
    "fenced_bare": _content("```\n{}\n```".format),
    "fence_then_note": _content("```json\n{}\n```\n[1]".format),
    "prose_before": _content("Sure! {}".format),
    "prose_after": _content("{}\nSee [docs] for more.".format),
    "thinking": _content('<think>{{"a": 1}}</think>{}'.format),
    "backticks_inside": _content(lambda text: json.dumps(json.loads(text) | {"note": "use ```x``` here"})),
    "two_objects": _content("{0}\n{0}".format),
    "in_a_string": _content(json.dumps),
    "single_quotes": _content(lambda text: text.replace('"', "'")),
    "trailing_comma": _content(lambda text: f"{text[:-1]},}}"),
    "duplicate_key": _content(_with_key_twice),
    "empty_fence": _content(lambda _: "```json\n```"),
    "prose_only": _content(lambda _: "I think this is about billing."),
    "wrong_enum": _content(_wrong_values),
}
_CHAT_VARIANTS: Final[dict[str, _Rubbish]] = {
    "bom": _content("\ufeff{}".format),
    "nul": _content(_with_nul),
    "empty_content": _content(lambda _: ""),
    "cut_off": _cut_off,
    "cut_off_complete": _finished_by_length,
    "empty_choices": lambda body: body | {"choices": []},
    "filtered": _choice("content_filter", {}),
    "filtered_null": _choice("content_filter", {"content": None}),
    "refusal": _choice("stop", {"content": None, "refusal": "I can't help with that."}),
    "html": lambda _: "<html><body>Welcome to the gateway</body></html>",
}
_VECTOR_VARIANTS: Final[dict[str, _Rubbish]] = {
    "wrong_length": _first_vector(lambda vector: vector[:-1]),
    "empty_vector": _first_vector(lambda _: []),
    "null_in_vector": _first_vector(lambda vector: [None, *vector[1:]]),
    "text_in_vector": _first_vector(lambda vector: ["0.1", *vector[1:]]),
    "zero_vector": _first_vector(lambda vector: [0.0] * len(vector)),
    "base64_vector": _first_vector(lambda _: "AACAPwAAAAA="),
    "missing_vector": _vectors(lambda rows: rows[:-1]),
    "extra_vector": _vectors(lambda rows: [*rows, rows[-1] | {"index": len(rows)}]),
    "html": lambda _: "<html><body>Welcome to the gateway</body></html>",
}
VARIANTS: Final = tuple(sorted({**_JSON_VARIANTS, **_CHAT_VARIANTS, **_VECTOR_VARIANTS}))
