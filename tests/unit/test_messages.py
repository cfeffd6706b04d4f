"""Messages: read generously where people are at work, never misread."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.queues.messages import PoisonMessage, UnreadableMessage, WorkMessage, encode

OURS = '{"job_id": 7, "delivery": 1}'
LATIN = st.text(st.characters(max_codepoint=0xFF), max_size=200)
POISON_KEYS = {
    "job_id",
    "delivery",
    "kind",
    "ticket_id",
    "attempts",
    "error",
    "dead_lettered_at",
    "request_id",
}


def wrapped(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def poison(**more: Any) -> PoisonMessage:
    return PoisonMessage.model_validate(
        {
            "job_id": 7,
            "delivery": 3,
            "kind": "ticket",
            "ticket_id": "T-500001",
            "attempts": 5,
            "error": {"code": "provider_timeout", "message": "The provider did not answer within 10 s."},
            "dead_lettered_at": "2025-11-29T20:51:00.000Z",
            "request_id": "r1",
            **more,
        }
    )


@pytest.mark.parametrize("wrap", [str, wrapped])
def test_message_when_plain_or_in_one_more_layer_of_base64_then_read(wrap: Any) -> None:
    assert WorkMessage.read(wrap(OURS)) == WorkMessage(job_id=7, delivery=1)


def test_message_when_base64_has_white_space_around_it_then_read() -> None:
    assert WorkMessage.read(f" {wrapped(OURS)}\n").job_id == 7


def test_message_when_it_has_unknown_keys_then_they_are_ignored() -> None:
    assert WorkMessage.read('{"job_id": 7, "delivery": 1, "priority": 9}').delivery == 1


def test_message_when_it_is_a_poison_message_then_read_as_work() -> None:
    text = base64.b64decode(encode(poison())).decode()
    assert WorkMessage.read(text) == WorkMessage(job_id=7, delivery=3)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "hello", "\x00", "=====", "{", "{" * 5_000),
        *("null", "7", '"7"', "[]", "[{}]", f"[{OURS}]", "{}"),
        *('{"job_id": "7", "delivery": 1}', '{"job_id": true, "delivery": 1}', '{"job_id": null, "delivery": 1}'),
        *('{"job_id": 7.5, "delivery": 1}', '{"job_id": NaN, "delivery": 1}', '{"delivery": 1}', '{"event_id": "e"}'),
        *(wrapped("[]"), wrapped(""), wrapped(wrapped(OURS))),
    ],
)
def test_message_when_it_names_no_job_then_unreadable_and_not_quoted(text: str) -> None:
    with pytest.raises(UnreadableMessage) as raised:
        WorkMessage.read(text)
    assert len(str(raised.value)) < 200


@given(LATIN | st.binary(max_size=100).map(lambda raw: base64.b64encode(raw).decode()))
def test_message_when_it_is_any_text_then_read_or_unreadable(text: str) -> None:
    try:
        message = WorkMessage.read(text)
    except UnreadableMessage:
        return
    assert message.job_id >= 1


@given(st.integers(1, 2**63 - 1), st.integers(0, 2**31 - 1), st.none() | LATIN)
def test_message_when_encoded_then_the_same_comes_back(job_id: int, delivery: int, traceparent: str | None) -> None:
    message = WorkMessage(job_id=job_id, delivery=delivery, traceparent=traceparent)
    assert WorkMessage.read(base64.b64decode(encode(message)).decode()) == message


def test_work_message_when_there_is_no_trace_then_the_two_numbers_alone() -> None:
    assert json.loads(base64.b64decode(encode(WorkMessage(job_id=7, delivery=1)))) == {"job_id": 7, "delivery": 1}


@pytest.mark.parametrize("more", [{}, {"ticket_id": None}, {"request_id": None}])
def test_poison_message_then_every_key_of_the_contract_is_there(more: dict[str, None]) -> None:
    body = json.loads(base64.b64decode(encode(poison(**more))))
    assert set(body) == POISON_KEYS
    assert set(body["error"]) == {"code", "message"}
