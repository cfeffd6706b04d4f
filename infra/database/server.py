"""The way to the server: as its administrator, with a fresh Entra token as the password."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import certifi
import psycopg
from psycopg.conninfo import make_conninfo

READY_WITHIN_S = 600  # a firewall rule may take five minutes, a new administrator a while
TRY_EVERY_S = 5.0

#: Every administrator is a member. What a migration makes belongs to it, so that the next one may be another's.
OWNER = "azure_pg_admin"


@dataclass(frozen=True)
class Server:
    """`password` is asked for at every connection: a token does not last. `tls` is only another one in tests."""

    host: str
    port: int
    admin: str
    password: Callable[[], str]
    tls: str = "verify-full"

    def address(self, database: str, *, role: str | None = None) -> str:
        """A connection string, with a secret in it; `role` is what the session acts as."""
        more = {"options": f"-c role={role}"} if role else {}
        return make_conninfo(
            host=self.host,
            port=self.port,
            dbname=database,
            user=self.admin,
            password=self.password(),
            sslmode=self.tls,
            sslrootcert=certifi.where(),  # the wheel's own libpq looks for the system's in a folder that nobody has
            connect_timeout=10,
            application_name="larkfield-deploy",
            **more,
        )

    def connect(self, database: str, *, role: str | None = None) -> psycopg.Connection:
        return psycopg.connect(self.address(database, role=role), autocommit=True)

    def wait(self, database: str, *, within_s: float = READY_WITHIN_S, say: Callable[[str], None] = print) -> None:
        """Wait until the server lets the administrator in. Raises psycopg.OperationalError after `within_s` seconds."""
        give_up_at = time.monotonic() + within_s
        told = ""
        while True:
            try:
                self.connect(database).close()
                return
            except psycopg.OperationalError as error:
                reason = str(error).strip().splitlines()[-1]
                if time.monotonic() > give_up_at:
                    raise
                if reason != told:
                    say(f"waiting for {self.host}: {reason}")
                    told = reason
            time.sleep(min(TRY_EVERY_S, within_s / 10))
