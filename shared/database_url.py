"""What DATABASE_URL says, as libpq reads it: a URL or key=value pairs."""

from __future__ import annotations

import certifi
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

NEEDS_ROOTS = ("verify-ca", "verify-full")


def is_readable(url: str) -> bool:
    """Whether libpq understands it; whether anybody answers there is another matter."""
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return False
    return True


def suits_a_token(url: str) -> bool:
    """Whether a token may be sent there as the password.

    For that a role has to be named, no password may be given, and the server has to prove who it is: whoever gets the
    token can use it on every database of the organisation that knows the identity, for up to a day.
    """
    parts = conninfo_to_dict(url)
    return bool(parts.get("user")) and not parts.get("password") and parts.get("sslmode") == "verify-full"


def with_roots(url: str) -> str:
    """The same with the certificates of the public authorities to check the server's by, unless it names its own.

    libpq in psycopg's binary wheel looks for the system's in the folder of the machine that built it, which nobody has
    (`sslrootcert=system` finds nothing), and otherwise in ~/.postgresql/root.crt. Azure's roots are among certifi's.
    """
    parts = conninfo_to_dict(url)
    if parts.get("sslmode") in NEEDS_ROOTS and not parts.get("sslrootcert"):
        return make_conninfo(url, sslrootcert=certifi.where())
    return url
