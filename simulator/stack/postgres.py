"""A Postgres server of our own on 127.0.0.1, that comes back after kill -9 and leaves nothing running."""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg

from simulator.stack.accounts import account_for, reachable
from simulator.stack.errors import StackError
from simulator.stack.ports import LOOPBACK, free_ports, require_free
from simulator.stack.postgres_binaries import find_binaries, lend_binaries
from simulator.stack.process import Process, Program
from simulator.stack.server import Server
from simulator.stack.waiting import wait_until

START_DEADLINE_S = 30
# What a new server says while the last pieces of a killed one still hold the folder.
_PASSING_REFUSALS = ("lock file", "pre-existing shared memory")


class Postgres(Server):
    """One server and its cluster: `with Postgres(folder) as postgres: postgres.url`.

    The cluster is made in `data` on the first start. `port` None means a free one, kept over restarts.
    `settings` are server parameters. For root the server runs under another account, and `data` becomes a
    stand-in folder where that account cannot get to the wanted one. A test uses `throw_away_postgres()`.
    """

    def __init__(
        self,
        data: Path,
        port: int | None = None,
        *,
        log: Path | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        data = data.absolute()
        data.parent.mkdir(parents=True, exist_ok=True)
        self._account = account_for(data)
        self.data = reachable(self._account, data)
        self.port = port or free_ports(1)[0]
        self.url = f"postgresql://postgres@{LOOPBACK}:{self.port}/postgres"
        self._log = log or data.with_name(f"{data.name}.log")
        self._settings = {"listen_addresses": LOOPBACK, "unix_socket_directories": "", **(settings or {})}
        self._binaries = lend_binaries(self._account, find_binaries(), shelf=self.data.parent)
        self.process = Process(self._program())

    def prepare(self) -> None:
        """Make the cluster, unless it is there."""
        require_free(self.port, "Postgres", "POSTGRES_PORT")
        if self.data.exists():
            return
        unfinished = self.data.with_name(f"{self.data.name}-unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        if self._account:
            shutil.chown(unfinished, self._account.uid, self._account.gid)
        self._run_initdb(unfinished)
        unfinished.rename(self.data)

    def wait_until_ready(self) -> None:
        """Wait until the server takes connections; start it again while a killed one holds the folder."""

        def ready() -> bool:
            if not self.process.running:
                self._judge_refusal()
                self.process.start()
            return self.answers()

        wait_until(ready, deadline_s=START_DEADLINE_S, what="Postgres takes connections", every_s=0.05)

    def answers(self) -> bool:
        """Say whether the server takes a connection right now."""
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _program(self) -> Program:
        parameters = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        return Program(
            name="postgres",
            command=(
                *(str(self._binaries / "postgres"), "-D", str(self.data), "-p", str(self.port)),
                *parameters,
            ),
            log=self._log,
            stop_signal=signal.SIGINT,  # "fast": does not wait for clients to leave
            account=self._account,
        )

    def _run_initdb(self, folder: Path) -> None:
        account = self._account
        done = subprocess.run(
            [
                *(str(self._binaries / "initdb"), "-D", str(folder), "--username=postgres", "--auth=trust"),
                *("--encoding=UTF8", "--no-locale", "--no-instructions"),
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
        if done.returncode != 0:
            raise StackError(f"initdb failed: {done.stderr.strip() or done.stdout.strip()}")

    def _judge_refusal(self) -> None:
        tail = self._log.read_text(errors="replace").splitlines()[-5:]
        if not any(passing in line for line in tail for passing in _PASSING_REFUSALS):
            raise StackError("Postgres does not start: " + " / ".join(line.strip() for line in tail))


def erase_cluster(data: Path) -> None:
    """Remove the cluster that `Postgres(data)` made, wherever it lies; its server has stopped."""
    data = data.absolute()
    place = reachable(account_for(data), data)
    shutil.rmtree(place if place == data else place.parent, ignore_errors=True)


@contextmanager
def throw_away_postgres(settings: Mapping[str, str] | None = None) -> Iterator[Postgres]:
    """Run a server on a free port whose cluster is removed after the block; it never waits for the disk."""
    careless = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:
        Path(folder).chmod(0o711)  # the account that root lends passes through
        with Postgres(Path(folder) / "cluster", settings={**careless, **(settings or {})}) as postgres:
            yield postgres
