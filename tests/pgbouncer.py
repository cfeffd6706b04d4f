"""A PgBouncer of our own in transaction mode, in front of a Postgres of the tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import psycopg

from simulator.stack.accounts import account_for, reachable
from simulator.stack.errors import StackError
from simulator.stack.ports import LOOPBACK, free_ports
from simulator.stack.postgres import Postgres
from simulator.stack.process import Process, Program
from simulator.stack.server import Server
from simulator.stack.waiting import wait_until

DEADLINE_S = 15
SERVER_CONNECTIONS = 3  # fewer than the app's pool has, so that its connections really share them

MISSING = "pgbouncer is not installed: nothing was tested through it (Debian: apt-get install pgbouncer)"

CONFIG = """
[databases]
* = host={host} port={postgres_port} user={user}

[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {server_connections}
max_client_conn = 200
log_connections = 0
log_disconnections = 0
"""


def binary() -> str | None:
    """Where PgBouncer is on this machine; Debian keeps it where only root looks."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")


class PgBouncer(Server):
    """`with PgBouncer(folder, postgres, "app") as pgbouncer: pgbouncer.url`, where everybody is `app` to Postgres.

    For root it runs under another account.
    """

    def __init__(self, folder: Path, postgres: Postgres, user: str) -> None:
        program = binary()
        if program is None:
            raise StackError("pgbouncer is not installed")
        account = account_for(folder)
        self._config = reachable(account, folder.absolute() / "pgbouncer.ini")
        self._postgres = postgres
        self._user = user
        self.port = free_ports(1)[0]
        self.url = postgres.url.replace(f":{postgres.port}/", f":{self.port}/")
        self._log = folder / "pgbouncer.log"
        self.process = Process(
            Program(name="pgbouncer", command=(program, str(self._config)), log=self._log, account=account)
        )

    def prepare(self) -> None:
        """Write its configuration."""
        text = CONFIG.format(
            host=LOOPBACK,
            port=self.port,
            postgres_port=self._postgres.port,
            user=self._user,
            server_connections=SERVER_CONNECTIONS,
        )
        self._config.write_text(text, encoding="utf-8")
        self._config.chmod(0o644)

    def wait_until_ready(self) -> None:
        """Wait until a connection through it works."""

        def ready() -> bool:
            if not self.process.running:
                raise StackError(f"pgbouncer ended at once: {self._log.read_text(errors='replace')[-500:]}")
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
            except psycopg.OperationalError:
                return False
            return True

        wait_until(ready, deadline_s=DEADLINE_S, what="PgBouncer takes connections")
