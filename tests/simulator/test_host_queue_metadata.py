"""What a function is told about a message (functions-host A8, A9)."""

import json
from datetime import UTC, datetime

import pytest
from azure.functions.meta import Datum

from simulator.host.queue_message import QueueDelivery
from simulator.host.queue_metadata import describe_by_hand, describe_delivery
from simulator.host.queue_output import OutputFailed, split_messages
from simulator.host.worker.converters import find_converter

AT = datetime(2026, 11, 29, 20, 58, 41, tzinfo=UTC)


def delivery(text: str) -> QueueDelivery:
    never = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    return QueueDelivery("an-id", text, 2, "receipt", inserted_at=AT, expires_at=never, next_visible_at=AT)


def message(text: str) -> object:
    """What the library makes of it."""
    metadata = {name: Datum(value, kind) for name, (kind, value) in describe_delivery(delivery(text)).items()}
    return find_converter("queueTrigger").decode(Datum(text, "string"), trigger_metadata=metadata)


def test_message_when_converted_then_it_has_all_its_fields() -> None:
    seen = message("hello")
    fields = ("id", "dequeue_count", "pop_receipt", "insertion_time", "time_next_visible")
    assert [getattr(seen, name) for name in fields] == ["an-id", 2, "receipt", AT, AT]
    assert seen.expiration_time.year == 9999  # type: ignore[attr-defined] # the library's class, untyped


@pytest.mark.parametrize(
    ("body", "name", "value"),
    [
        ({"ID": "mine"}, "id", "mine"),
        ({"id": 5}, "id", "5"),
        ({"id": True}, "id", "True"),
        ({"id": {"a": 1}}, "id", "{'a': 1}"),
        ({"dequeueCount": "9"}, "dequeue_count", 9),
        ({"id": None}, "id", "an-id"),
        ({"id": ["a"]}, "id", "an-id"),
        ([{"id": "mine"}], "id", "an-id"),
        ({"job_id": 1}, "id", "an-id"),
    ],
)
def test_message_when_its_body_is_an_object_then_its_keys_win(body: object, name: str, value: object) -> None:
    assert getattr(message(f" {json.dumps(body)}\n"), name) == value


@pytest.mark.parametrize("body", [{"dequeueCount": "many"}, {"insertionTime": "2026-11-29T20:58:41Z"}])
def test_message_when_a_winning_key_does_not_convert_then_every_run_fails(body: object) -> None:
    with pytest.raises(ValueError, match=r"cannot convert|does not match|unconverted"):
        message(json.dumps(body))


def test_metadata_when_the_text_only_looks_like_json_then_they_stay() -> None:
    assert describe_delivery(delivery("{no}"))["Id"] == ("string", "an-id")


def test_metadata_when_called_by_hand_then_no_id_and_count_0() -> None:
    assert describe_by_hand("x") == {"QueueTrigger": ("string", "x"), "DequeueCount": ("json", "0")}


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("plain", ["plain"]),
        ('["a", {"b": 1}]', ["a", '{\n  "b": 1\n}']),
        ('{"b":1}', ['{\n  "b": 1\n}']),
        ("[]", []),
        ("{half", ["{half"]),
    ],
)
def test_output_when_split_then_as_the_host_reads_it(text: str, messages: list[str]) -> None:
    assert list(split_messages(text)) == messages


def test_output_when_it_looks_like_json_and_is_not_then_it_fails() -> None:
    with pytest.raises(OutputFailed):
        list(split_messages("[1,]"))
