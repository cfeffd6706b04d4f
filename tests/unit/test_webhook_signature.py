"""Webhook signatures: what the specification's own examples and its library say of them."""

from __future__ import annotations

import base64
import traceback
from datetime import UTC, datetime, timedelta, timezone

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from shared.settings import SettingsError
from shared.webhooks.signature import Signer

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(b"k" * 64).decode()
EVENT_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
BODY = b'{"test": 2432232314}'
SENT_AT = datetime.fromtimestamp(1614265330, UTC)
EXPECTED = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="  # of the five above, in the specification's libraries


def test_headers_when_signed_then_those_of_the_specifications_example() -> None:
    assert Signer(SECRET).headers(EVENT_ID, BODY, sent_at=SENT_AT) == {
        "webhook-id": EVENT_ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": EXPECTED,
    }


def test_headers_when_the_time_has_another_zone_or_a_fraction_then_the_same_instant_counts() -> None:
    elsewhere = (SENT_AT + timedelta(milliseconds=999)).astimezone(timezone(timedelta(hours=5, minutes=30)))
    headers = Signer(SECRET).headers(EVENT_ID, BODY, sent_at=elsewhere)
    assert (headers["webhook-timestamp"], headers["webhook-signature"]) == ("1614265330", EXPECTED)


def test_headers_when_there_is_a_previous_secret_then_both_sign_the_newer_first() -> None:
    headers = Signer(OTHER, previous=SECRET).headers(EVENT_ID, BODY, sent_at=SENT_AT)
    newer, older = headers["webhook-signature"].split(" ")
    assert older == EXPECTED
    assert newer == Signer(OTHER).headers(EVENT_ID, BODY, sent_at=SENT_AT)["webhook-signature"]


@pytest.mark.parametrize("known", [SECRET, OTHER])
def test_receiver_when_it_knows_either_secret_then_it_accepts_exactly_these_bytes(known: str) -> None:
    body = '{"subject":"Überweisung 💶","n":1.0}'.encode()
    headers = Signer(OTHER, previous=SECRET).headers(EVENT_ID, body, sent_at=datetime.now(UTC))
    assert Webhook(known).verify(body, headers) == {"subject": "Überweisung 💶", "n": 1.0}
    with pytest.raises(WebhookVerificationError):
        Webhook(known).verify(body + b"\n", headers)


def test_receiver_when_it_knows_neither_secret_then_it_refuses() -> None:
    headers = Signer(SECRET).headers(EVENT_ID, BODY, sent_at=datetime.now(UTC))
    with pytest.raises(WebhookVerificationError):
        Webhook(OTHER).verify(BODY, headers)


@pytest.mark.parametrize("key", [b"k" * 24, b"k" * 25, b"k" * 26, b"\xff" * 64])
def test_secret_when_its_base64_is_unpadded_then_the_same_key(key: bytes) -> None:
    padded = "whsec_" + base64.b64encode(key).decode()
    signed = [Signer(text).headers(EVENT_ID, BODY, sent_at=SENT_AT) for text in (padded, padded.rstrip("="))]
    assert signed[0] == signed[1]


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        SECRET.removeprefix("whsec_"),
        SECRET.replace("whsec_", "WHSEC_"),
        "whsk_" + SECRET.removeprefix("whsec_"),
        SECRET + "\n",
        SECRET[:-1] + "-",
        SECRET[:-1] + "ä",
        SECRET[:20] + " " + SECRET[20:],
        "whsec_" + base64.b64encode(b"k" * 23).decode(),
        "whsec_" + base64.b64encode(b"k" * 65).decode(),
    ],
)
def test_secret_when_malformed_then_the_error_names_the_setting_and_shows_nothing_of_it(secret: str) -> None:
    with pytest.raises(SettingsError, match=r"^WEBHOOK_SECRET: must be whsec_ and then") as raised:
        Signer(secret)
    shown = "".join(traceback.format_exception(raised.value))
    assert len(secret) < 10 or secret[6:16] not in shown


def test_previous_secret_when_malformed_then_the_error_names_that_setting() -> None:
    with pytest.raises(SettingsError, match=r"^WEBHOOK_SECRET_PREVIOUS: must be whsec_"):
        Signer(SECRET, previous="whsec_short")


def test_signer_when_shown_then_no_secret() -> None:
    signer = Signer(SECRET)
    assert SECRET[6:] not in f"{signer!r} {signer}"
