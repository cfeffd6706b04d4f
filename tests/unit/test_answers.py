"""Lenient reading of answers: field reports A10, A11, A12, A13 and A14 (provider part)."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import AnswerTruncated, BadAnswer, ContentFiltered
from shared.provider.answers import chat_text, first_object, only_vector, plain_text, tokens_used, vector

BILLING = {"category": "billing"}
FENCE = "```"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"category": "billing"}', BILLING),
        (f'{FENCE}json\n{{"category": "billing"}}\n{FENCE}', BILLING),
        (f'{FENCE}\n{{"category": "billing"}}\n{FENCE}', BILLING),
        ('Sure! {"category": "billing"}', BILLING),
        ('{"category": "billing"}\nSee [docs] for more.', BILLING),
        (f'{FENCE}json\n{{"category": "billing"}}\n{FENCE}\n[1]', BILLING),
        ('As asked, {category} and {priority, team}: {"category": "billing"}', BILLING),
        ('\ufeff{"category": "billing"}', BILLING),
        ('{"category": "billing"}{"category": "login"}', BILLING),
        ('{"category": "billing"}\n{"category": ', BILLING),
        (json.dumps('{"category": "billing"}'), BILLING),
        (json.dumps('\n {"category": "billing"}\n'), BILLING),
        ('<think>{"a":1}</think>{"category": "billing"}', BILLING),
        ('\ufeff\n<think>{"a":1}</think>\n<think>{</think>\n{"category": "billing"}', BILLING),
        ("{}", {}),
        (f'{{"summary": "use {FENCE}x{FENCE} here"}}', {"summary": f"use {FENCE}x{FENCE} here"}),
        ('{"summary": "</think> } {x} [1] \\" {"}', {"summary": '</think> } {x} [1] " {'}),
        ('{"summary": "two\nlines"}', {"summary": "two\nlines"}),
        ('{"a": [1, 2.5, true, null, {"b": "é😀"}]}', {"a": [1, 2.5, True, None, {"b": "é😀"}]}),
    ],
)
def test_first_object_when_decodable_gives_it_unchanged(text: str, found: dict[str, object]) -> None:
    assert first_object(text) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" \n\ufeff ", "empty"),
        ('<think>{"a": 1}', "empty"),
        (f"{FENCE}json\n{FENCE}", "no JSON object"),
        ("I cannot say.", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('"billing"', "no JSON object"),
        ("{category: billing}", "no JSON object"),
        ("{'category': 'billing'}", "broken JSON"),
        ("{'category': {\"a\": 1}}", "broken JSON"),
        ('{"category": {"a": 1},}', "broken JSON"),
        ('{"category": "billing",}', "broken JSON"),
        ('{"category": "billing", "tags": [{"a": 1}', "broken JSON"),
        ('{"category": "billing", "category": "login"}', "key twice"),
        ('{"a": {"b": 1, "b": 1}}', "key twice"),
        ('{"a": NaN}', "not finite"),
        ('{"a": -Infinity}', "not finite"),
        ('{"a": 1e999}', "not finite"),
        ('{"a": ' + "9" * 5000 + "}", "beyond all measure"),
        ('{"a": ' * 100_000, "beyond all measure"),
    ],
)
def test_first_object_when_not_decodable_says_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(BadAnswer, match=problem):
        first_object(text)


@pytest.mark.parametrize(
    "text", ["secret", '{"secret": 1, "secret": 2}', '{"secret": "secret', "{'secret'}", '{"a": secret}']
)
def test_first_object_when_not_decodable_never_quotes_the_answer(text: str) -> None:
    with pytest.raises(BadAnswer) as caught:
        first_object(text)
    assert "secret" not in caught.value.message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_first_object_when_strings_hold_nul_or_surrogates_replaces_them() -> None:
    text = r'{"k\u0000": ["a\u0000b", ["\ud800"], {"c": "\udfff"}], "literal": "\\u0000"}'
    assert first_object(text) == {
        "k\ufffd": ["a\ufffdb", ["\ufffd"], {"c": "\ufffd"}],
        "literal": "\\u0000",
    }


@settings(max_examples=50)
@given(st.text('{}[]"\\:,u0d8\x00 \n`<think/>1e9NaN') | st.text())
def test_first_object_whatever_is_said_gives_what_can_be_stored_or_bad_answer(text: str) -> None:
    try:
        found = first_object(text)
    except BadAnswer:
        return
    stored = json.dumps(found, ensure_ascii=False, allow_nan=False)
    assert "\\u0000" not in stored.replace("\\\\", "")
    assert stored.encode()


@settings(max_examples=50)
@given(
    st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())),
    st.text("abc .!?`[1]\n"),
    st.text(),
)
def test_first_object_whatever_stands_around_finds_the_object(value: dict[str, Any], before: str, after: str) -> None:
    whole = json.loads(json.dumps(value).replace("\\u0000", "?"))
    assert first_object(f"{before}{json.dumps(whole)}{after}") == whole


def test_plain_text_when_wrapped_gives_what_is_meant_for_the_reader() -> None:
    assert plain_text("\ufeff\n<think>hm</think>\n Dear\x00 customer,\n\nhello. \n") == "Dear\ufffd customer,\n\nhello."


def completion(message: object, finish_reason: object = "stop") -> object:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


def test_chat_text_when_the_model_finished_gives_its_text() -> None:
    assert chat_text(completion({"role": "assistant", "content": "Hello.", "refusal": None})) == "Hello."


@pytest.mark.parametrize("content", ['{"category":"billing","tags":["a","b"', '{"category":"billing"}', None])
def test_chat_text_when_cut_off_raises_answer_truncated_even_if_complete(content: str | None) -> None:
    with pytest.raises(AnswerTruncated) as caught:
        chat_text(completion({"content": content}, "length"))
    assert "billing" not in caught.value.message


@pytest.mark.parametrize(
    "answer",
    [
        completion({"role": "assistant"}, "content_filter"),
        completion({"role": "assistant", "content": None}, "content_filter"),
        completion({"role": "assistant", "content": "Half an ans"}, "content_filter"),
        completion({"role": "assistant", "content": None, "refusal": "I can't help"}),
        {"choices": [{"finish_reason": "content_filter"}]},
    ],
)
def test_chat_text_when_policy_withheld_it_raises_content_filtered(answer: object) -> None:
    with pytest.raises(ContentFiltered) as caught:
        chat_text(answer)
    assert "can't help" not in caught.value.message


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        "text",
        {"error": {"message": "upstream failed"}},
        {"choices": []},
        {"choices": None},
        {"choices": "x"},
        {"choices": [None]},
        {"choices": [{}]},
        completion(None),
        completion({"role": "assistant"}),
        completion({"role": "assistant", "content": None, "tool_calls": [{"id": "call_1"}]}, "tool_calls"),
        completion({"role": "assistant", "content": ""}),
        completion({"role": "assistant", "content": " \n"}),
        completion({"role": "assistant", "content": ["text"]}),
    ],
)
def test_chat_text_when_there_is_none_raises_bad_answer(answer: object) -> None:
    with pytest.raises(BadAnswer):
        chat_text(answer)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total_tokens": 215}, 215),
        ({"total_tokens": 0}, 0),
        ({"total_tokens": -1}, None),
        ({"total_tokens": True}, None),
        ({"total_tokens": 1.5}, None),
        ({"total_tokens": "215"}, None),
        ({"total_tokens": 10**30}, None),
        ({}, None),
        (None, None),
        ("many", None),
    ],
)
def test_tokens_used_when_told_gives_the_count_else_none(usage: object, tokens: int | None) -> None:
    assert tokens_used({"usage": usage}) == tokens


def test_vector_when_whole_gives_floats() -> None:
    numbers = vector([1, -0.5, 0], 3)
    assert numbers == [1.0, -0.5, 0.0]
    assert all(isinstance(number, float) for number in numbers)


@pytest.mark.parametrize(
    ("embedding", "received"),
    [
        ([0.1, 0.2], "received 2"),
        ([0.1, 0.2, 0.3, 0.4], "received 4"),
        ([], "received 0"),
        ([0.1, None, 0.3], "received 3 values that are not all finite"),
        ([0.1, "0.1", 0.3], "received 3 values that are not all finite"),
        ([0.1, True, 0.3], "received 3 values that are not all finite"),
        ([0.1, [0.2], 0.3], "received 3 values that are not all finite"),
        ([0.1, math.nan, 0.3], "received 3 values that are not all finite"),
        ([0.1, math.inf, 0.3], "received 3 values that are not all finite"),
        ([0.1, 1e39, 0.3], "received 3 values that are not all finite"),
        ([0.1, 10**400, 0.3], "received 3 values that are not all finite"),
        ([0, 0.0, -0.0], "received 3 zeros"),
        ("zczMPc3MTD6amZk+", "received no list"),
        (None, "received no list"),
        ({"0": 0.1}, "received no list"),
    ],
)
def test_vector_when_not_whole_names_expected_and_received(embedding: object, received: str) -> None:
    with pytest.raises(BadAnswer, match=f"^Expected an embedding of 3 finite numbers, {received}"):
        vector(embedding, 3)


def test_only_vector_when_there_is_one_gives_it() -> None:
    assert only_vector({"data": [{"index": 0, "embedding": [0.5, 0.5]}]}, 2) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("answer", "received"),
    [
        ({"data": []}, "received 0"),
        ({"data": [{"embedding": [0.5]}] * 2}, "received 2"),
        ({"data": [{"embedding": [0.5]}] * 4}, "received 4"),
        ({"data": None}, "received none"),
        ({}, "received none"),
        ([], "received none"),
        ({"data": [None]}, "received no list"),
    ],
)
def test_only_vector_when_the_count_is_another_raises_bad_answer(answer: object, received: str) -> None:
    with pytest.raises(BadAnswer, match=received):
        only_vector(answer, 1)
