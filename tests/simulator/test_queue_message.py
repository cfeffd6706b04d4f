import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.host.queue_message import Undecodable, decode_body, encode_body


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("aGVsbG8=", b"hello"),
        ("aGVs bG8=", b"hello"),
        ("aGVs\nbG8=", b"hello"),
        (" aGVs\r\n\tbG8 = ", b"hello"),
        ("", b""),
        ("AAAA", b"\0\0\0"),
        ("test", b"\xb5\xeb-"),
        ("//6AgQ==", b"\xff\xfe\x80\x81"),
        ("77u/YWJj", b"\xef\xbb\xbfabc"),
        ("YR==", b"a"),
    ],
)
def test_base64_that_dotnet_reads_then_decoded(text: str, body: bytes) -> None:
    assert decode_body(text, "base64") == body


@pytest.mark.parametrize(
    "text",
    [
        "hello world!",
        '{"tag":"rawjson"}',
        "aGVsbG8",
        "_-__",
        "YQ==YQ==",
        "Y===",
        "====",
        "YQ=",
        "aGVs\x0bbG8=",
        "aGVsbGö=",
    ],
)
def test_text_that_dotnet_does_not_read_then_undecodable(text: str) -> None:
    with pytest.raises(Undecodable):
        decode_body(text, "base64")


@given(st.binary())
def test_body_encoded_and_decoded_then_the_same(body: bytes) -> None:
    assert decode_body(encode_body(body, "base64"), "base64") == body


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_plain_text_then_handed_over_and_copied_as_it_is(text: str) -> None:
    assert encode_body(decode_body(text, "none"), "none") == text


@given(st.binary(min_size=1), st.data())
def test_white_space_inside_then_gone_from_the_copy(body: bytes, data: st.DataObject) -> None:
    text = base64.b64encode(body).decode()
    cut = data.draw(st.integers(0, len(text)))
    assert encode_body(decode_body(f"{text[:cut]} \n{text[cut:]}", "base64"), "base64") == text
