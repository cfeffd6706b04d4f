"""Decoding, picking and cleaning of JSON that nobody vouches for."""

from __future__ import annotations

import pytest

from shared.provider.foreign_json import decoded, pick, storable


@pytest.mark.parametrize("body", [b"", b"busy", b"{", b"\xff\xfe\xfd", b"[" * 100_000, b"1" * 5000])
def test_decoded_when_the_body_is_not_json_gives_none(body: bytes) -> None:
    assert decoded(body) is None


def test_decoded_when_the_body_is_json_gives_its_value() -> None:
    assert decoded(b'\xef\xbb\xbf{"a": [1]}') == {"a": [1]}


def test_pick_when_the_path_exists_gives_what_lies_there() -> None:
    assert pick({"choices": [{"message": {"content": "hi"}}]}, "choices", 0, "message", "content") == "hi"


@pytest.mark.parametrize("value", [None, 1, "error", [], [[]], {}, {"error": None}, {"error": "busy"}, {"error": []}])
def test_pick_when_the_shape_is_another_gives_none(value: object) -> None:
    assert pick(value, "error", "code") is None
    assert pick(value, 0, "code") is None


def test_storable_when_text_holds_nul_or_lone_surrogates_replaces_them() -> None:
    assert storable("a\x00b\ud800c\udfff") == "a\ufffdb\ufffdc\ufffd"


def test_storable_when_text_only_looks_like_an_escape_keeps_it() -> None:
    assert storable("\\u0000 \\ud800 😀\n") == "\\u0000 \\ud800 😀\n"
