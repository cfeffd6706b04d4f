"""DATABASE_URL: which may be sent a token, and whose certificates are checked by which roots."""

from __future__ import annotations

import ssl

import certifi
import pytest
from psycopg.conninfo import conninfo_to_dict

from shared.database_url import is_readable, suits_a_token, with_roots

AZURE = "postgresql://id-app@db.example:5432/app?sslmode=verify-full"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (AZURE, True),
        ("host=db.example user=id-app dbname=app sslmode=verify-full", True),
        (AZURE.replace("id-app", "id-app:secret"), False),
        (AZURE.replace("id-app@", ""), False),
        (AZURE.replace("verify-full", "verify-ca"), False),
        (AZURE.partition("?")[0], False),
    ],
)
def test_url_then_a_token_goes_only_where_the_server_is_known_and_no_password_is(url: str, expected: bool) -> None:
    assert suits_a_token(url) is expected


@pytest.mark.parametrize("url", ["mysql:app", "postgresql://app@db/app?colour=blue", "host=db user"])
def test_url_when_libpq_cannot_read_it_then_said(url: str) -> None:
    assert not is_readable(url)


@pytest.mark.parametrize("mode", ["verify-full", "verify-ca"])
def test_roots_when_the_server_is_to_be_checked_then_those_of_the_public_authorities(mode: str) -> None:
    url = AZURE.replace("verify-full", mode)
    assert conninfo_to_dict(with_roots(url)) == {**conninfo_to_dict(url), "sslrootcert": certifi.where()}


@pytest.mark.parametrize("url", [f"{AZURE}&sslrootcert=/own/roots.pem", "postgresql://postgres@127.0.0.1/postgres"])
def test_roots_when_named_or_not_needed_then_as_it_was(url: str) -> None:
    assert with_roots(url) == url


def test_roots_then_those_that_azure_uses_are_among_them() -> None:
    # https://learn.microsoft.com/azure/postgresql/security/security-tls-how-to-connect
    roots = str(ssl.create_default_context(cafile=certifi.where()).get_ca_certs())
    assert "('commonName', 'DigiCert Global Root G2')" in roots
    assert "('commonName', 'Microsoft RSA Root Certificate Authority 2017')" in roots
