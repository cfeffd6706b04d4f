"""The app with an identity: tokens in place of passwords, through azure-identity, TLS and a server that looks at them.

Postgres asks for a password as Entra's Postgres does, in clear inside TLS; the password that it knows is the token of
the hour.
"""

from __future__ import annotations

import asyncio
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
import trustme

from shared.db import Database
from shared.errors import DatabaseUnavailable
from shared.settings import Settings
from simulator.stack.ports import LOOPBACK
from simulator.stack.postgres import Postgres
from tests.front import Front
from tests.stage import APP_ROLE, until
from tests.tcp_wire import Wire
from tests.token_service import TokenService

GOOD = {"customer_id": "C-0022", "subject": "Charged twice"}
ROLE = "larkfield_identity"
CLIENT_ID = "11111111-1111-1111-1111-111111111111"
FOR_POSTGRES = "https://ossrdbms-aad.database.windows.net"
LIMIT_S = 3.0 + 1.5  # what is promised, and what a busy machine may add
BACK_S = 10.0


class Role:
    """The identity's role, which is let in with the newest token only."""

    def __init__(self, admin_url: str) -> None:
        self._admin_url = admin_url
        self.token = ""

    def _run(self, statement: str) -> list[tuple[int, ...]]:
        with psycopg.connect(self._admin_url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def renew(self, *, valid: str = "infinity") -> None:
        """Another token, which opens the server until the instant `valid`; the ones before open nothing any more."""
        self.token = secrets.token_urlsafe(900)  # tokens are long
        self._run(f"ALTER ROLE {ROLE} PASSWORD '{self.token}' VALID UNTIL '{valid}'")

    def connections(self) -> set[int]:
        return {row[0] for row in self._run(f"SELECT pid FROM pg_stat_activity WHERE usename = '{ROLE}'")}

    def cut(self) -> None:
        """End the app's connections."""
        self._run(f"SELECT pg_terminate_backend(pid)::int FROM pg_stat_activity WHERE usename = '{ROLE}'")


@pytest.fixture(scope="module")
def rules(postgres: Postgres) -> Iterator[None]:
    """The server lets the identity's role in by password; it may do what the app's role may."""
    file = postgres.data / "pg_hba.conf"
    before = file.read_text()
    file.write_text(f"host all {ROLE} all password\n{before}")
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {ROLE} LOGIN IN ROLE {APP_ROLE}")
        connection.execute("SELECT pg_reload_conf()")
        yield
        connection.execute(f"DROP ROLE {ROLE}")
        file.write_text(before)
        connection.execute("SELECT pg_reload_conf()")


@pytest.fixture
def role(postgres: Postgres, rules: None) -> Role:
    made = Role(postgres.url)
    made.renew()
    return made


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def tunnel(postgres: Postgres, authority: trustme.CA) -> AsyncIterator[Wire]:
    """TLS before the server, which has none of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["postgresql"])
    authority.issue_cert(LOOPBACK).configure_cert(context)
    async with Wire(postgres.port, tls=context) as made:
        yield made


@pytest.fixture
async def service(role: Role, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TokenService]:
    async with TokenService(lambda _: role.token) as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def environment(
    environment: dict[str, str], service: TokenService, tunnel: Wire, authority: trustme.CA, tmp_path: Path
) -> dict[str, str]:
    roots = tmp_path / "roots.pem"
    authority.cert_pem.write_to_path(str(roots))
    url = f"postgresql://{ROLE}@{LOOPBACK}:{tunnel.port}/postgres?sslmode=verify-full&sslnegotiation=direct"
    return {
        **environment,
        "DATABASE_URL": f"{url}&sslrootcert={roots.as_posix()}",
        "DATABASE_AUTH": "entra",
        "AZURE_CLIENT_ID": CLIENT_ID,
    }


async def is_well(front: Front) -> bool:
    return (await front.get("/v1/queue")).status == 200


async def test_ticket_when_the_database_knows_only_the_identity_then_accepted_with_one_token(
    front: Front, service: TokenService
) -> None:
    assert (await front.post("/v1/tickets", GOOD)).status == 202
    assert [(asked["resource"], asked["client_id"]) for asked in service.asked] == [(FOR_POSTGRES, CLIENT_ID)]


async def test_connections_when_the_token_ends_then_the_old_ones_go_on_and_new_ones_have_the_next_token(
    role: Role, front: Front, service: TokenService
) -> None:
    service.lasts_s = 0  # each connection asks for another
    assert await is_well(front)
    before = role.connections()
    role.renew()
    assert await is_well(front)
    assert before <= role.connections()
    role.cut()
    await until(lambda: is_well(front), "the app is let in again", within_s=BACK_S)
    assert not role.connections() & before


async def test_calls_when_the_server_takes_no_token_then_503_in_time_and_well_after_the_next_token(
    role: Role, front: Front, service: TokenService
) -> None:
    service.lasts_s = 0
    role.renew(valid="yesterday")
    await check_refused(front)
    role.renew()
    await until(lambda: is_well(front), "the app is let in", within_s=BACK_S)


@pytest.mark.parametrize("trouble", ["fails", "hangs"])
async def test_calls_when_the_token_service_is_away_then_503_in_time_and_well_after_it(
    trouble: str, front: Front, service: TokenService
) -> None:
    if trouble == "hangs":
        service.freeze()
    service.fails = trouble == "fails"
    await check_refused(front)
    service.mend()
    await until(lambda: is_well(front), "the app is let in", within_s=BACK_S)


async def test_connections_when_the_token_is_to_be_renewed_and_nobody_gives_one_then_new_ones_are_made_with_it(
    role: Role, front: Front, service: TokenService
) -> None:
    service.renew_in_s = 0
    assert await is_well(front)
    service.freeze()
    before = role.connections()
    role.cut()
    await until(lambda: is_well(front), "the app is let in again", within_s=BACK_S)
    assert not role.connections() & before


async def test_server_when_no_public_authority_knows_it_then_it_gets_no_token(
    role: Role, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async def token() -> str:
        return role.token

    db = Database(settings.database_url.partition("&sslrootcert")[0], pool_size=1, password=token)
    await db.open()
    with pytest.raises(DatabaseUnavailable):
        await db.fetch_dicts("SELECT 1 AS one")
    await db.close()
    assert "certificate verify failed" in caplog.text
    assert role.token not in caplog.text


async def check_refused(front: Front) -> None:
    began = time.monotonic()
    answer, ready = await asyncio.gather(front.post("/v1/tickets", GOOD), front.get("/v1/health/ready"))
    assert time.monotonic() - began < LIMIT_S
    assert (answer.status, answer.error["code"]) == (503, "database_unavailable")
    assert (ready.status, ready.json()["checks"]["database"]) == (503, "unreachable")
    assert (await front.get("/v1/health/live")).status == 200
