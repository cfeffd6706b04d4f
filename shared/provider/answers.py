"""Lenient reading of what the provider answered with 200: the text, the JSON object in it, the vector. Pure.

A bad answer is described, never quoted: the raw text of a model may not end up in logs.
"""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

from shared.errors import AnswerTruncated, BadAnswer, ContentFiltered
from shared.provider.foreign_json import decoded, pick, storable

# A thought that never ends swallows the rest: an object inside it is not the answer.
_THOUGHTS = re.compile(r"\A[\s\ufeff]*(?:<think>.*?(?:</think>|\Z)\s*)*", re.DOTALL)
# Braces of prose, as in {name}. A group with quotes or with groups of its own is meant as JSON.
_PLACEHOLDER = re.compile(r"""\{\s*[^\s{}"'][^{}"']*\}""")
_LARGEST_FLOAT4 = 3.4028234663852886e38
_MOST_TOKENS = 1_000_000_000


def chat_text(answer: object) -> str:
    """What the model says in a decoded chat completion, as `plain_text`.

    Raises AnswerTruncated (the token limit cut it off), ContentFiltered (policy withheld it) or BadAnswer.
    """
    choice = pick(answer, "choices", 0)
    finish_reason = pick(choice, "finish_reason")
    if finish_reason == "length":
        raise AnswerTruncated("The model's answer was cut off by its token limit.")
    if finish_reason == "content_filter" or pick(choice, "message", "refusal"):
        raise ContentFiltered("The model's answer was withheld by policy.")
    content = pick(choice, "message", "content")
    if not isinstance(content, str):
        raise BadAnswer("The provider's answer holds no text of a model.")
    return plain_text(content)


def tokens_used(answer: object) -> int | None:
    """The tokens that a decoded answer says it cost; None when it does not say, or says something absurd."""
    tokens = pick(answer, "usage", "total_tokens")
    if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < _MOST_TOKENS:
        return tokens
    return None


def plain_text(text: str) -> str:
    """The answer without byte order mark, leading `<think>` blocks and outer white space.

    NUL and lone surrogates become U+FFFD. Raises BadAnswer when nothing is left.
    """
    said = _THOUGHTS.sub("", storable(text)).rstrip()
    if not said:
        raise BadAnswer("The model's answer is empty.")
    return said


def first_object(text: str) -> dict[str, object]:
    """The first complete JSON object of an answer, values unchanged; raises BadAnswer when there is none.

    Fences, prose, thoughts and a second object are passed over; an object inside one JSON string is unpacked.
    An object that is begun but broken (cut off, single quotes, trailing comma, a key twice, NaN, infinity) is
    refused instead of searched for a smaller one. NUL and lone surrogates in keys and values become U+FFFD.
    """
    said = plain_text(text)
    whole = decoded(said)
    if isinstance(whole, str):
        said = whole
    for brace in re.finditer(r"\{", said):
        if not _PLACEHOLDER.match(said, brace.start()):
            return _object_at(said, brace.start())
    raise BadAnswer("The model's answer holds no JSON object.")


def only_vector(answer: object, size: int) -> list[float]:
    """The one vector in a decoded answer to one input; raises BadAnswer when it holds none or several."""
    embeddings = pick(answer, "data")
    if not isinstance(embeddings, list) or len(embeddings) != 1:
        received = len(embeddings) if isinstance(embeddings, list) else "none"
        raise BadAnswer(f"Expected 1 embedding of {size} numbers, received {received}.")
    return vector(pick(embeddings, 0, "embedding"), size)


def vector(data: object, size: int) -> list[float]:
    """`data` as exactly `size` numbers that pgvector can keep; raises BadAnswer with both sizes otherwise.

    All zeros are refused too: such a vector has no direction, so no cosine distance.
    """

    def bad(received: str) -> BadAnswer:
        return BadAnswer(f"Expected an embedding of {size} finite numbers, received {received}.")

    if not isinstance(data, list):
        raise bad("no list")
    if len(data) != size:
        raise bad(f"{len(data)}")
    if not all(_fits_float4(number) for number in data):
        raise bad(f"{len(data)} values that are not all finite numbers")
    if not any(data):
        raise bad(f"{len(data)} zeros")
    return [float(number) for number in data]


def _object_at(text: str, start: int) -> dict[str, object]:
    try:
        found: dict[str, object] = _DECODER.raw_decode(text, start)[0]
    except json.JSONDecodeError as exc:
        raise BadAnswer(f"The model's answer holds broken JSON: {exc.msg} (character {exc.pos}).") from None
    except (ValueError, RecursionError):
        raise BadAnswer("The model's answer holds a number or a nesting beyond all measure.") from None
    return found


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = {storable(key): _storable_value(value) for key, value in pairs}
    if len(members) < len(pairs):
        raise BadAnswer("The model's answer names a key twice.")
    return members


def _storable_value(value: object) -> object:
    match value:
        case str():
            return storable(value)
        case list():
            return [_storable_value(item) for item in value]
    return value


def _finite(number: str) -> float:
    value = float(number)
    return value if math.isfinite(value) else _refuse_constant(number)


def _refuse_constant(_name: str) -> NoReturn:
    raise BadAnswer("The model's answer holds a number that is not finite.")


# Not strict: models put bare line breaks into their strings, which changes no meaning.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_finite, parse_constant=_refuse_constant, strict=False
)


def _fits_float4(number: object) -> bool:
    """pgvector keeps four-byte floats. A bool is an int in Python, but no number of an embedding."""
    return isinstance(number, int | float) and not isinstance(number, bool) and abs(number) <= _LARGEST_FLOAT4
