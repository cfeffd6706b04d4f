"""Preparing the database, on a server that stands as Azure leaves it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from infra.database.__main__ import prepare
from infra.database.deployment import Deployment, Incomplete
from infra.database.roles import ensure_role
from infra.database.server import OWNER
from migrations.__main__ import ROLE_LIMITS
from migrations.grants import RIGHTS, UnknownTables, grant
from simulator.stack.postgres import throw_away_postgres
from tests.infra.like_azure import DATABASE, LikeAzure, deployment, make_like_azure

OUTPUTS = {
    "DATABASE_SERVER_ID": "/subscriptions/s/servers/p",
    "DATABASE_HOST": "127.0.0.1",
    "DATABASE_NAME": DATABASE,
    "DATABASE_ADMIN": "first_admin",
    "DATABASE_APP_ROLE": "id-larkfield",
    "DATABASE_APP_OBJECT_ID": "11111111-1111-1111-1111-111111111111",
    "NETWORK_MODE": "private",
}


class Labels:
    """Stands in for the one statement that only Azure's own Postgres knows."""

    def __init__(self) -> None:
        self.given: list[tuple[str, str]] = []

    def __call__(self, _: psycopg.Connection, role: str, label: str) -> None:
        self.given.append((role, label))


@pytest.fixture(scope="module")
def azure() -> Iterator[LikeAzure]:
    """A server of this module's own, since roles belong to a whole server; the database is prepared once."""
    with throw_away_postgres() as postgres:
        made = make_like_azure(postgres)
        prepare(made.server(), deployment(), label=Labels())
        yield made


def test_prepare_when_run_first_then_role_schema_and_time_limits(azure: LikeAzure) -> None:
    with psycopg.connect(azure.address("id-larkfield")) as connection:
        shown = {name: connection.execute(f"SHOW {name}").fetchone() for name in ROLE_LIMITS}
        assert shown == {name: (value,) for name, value in ROLE_LIMITS.items()}
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (0,)


def test_prepare_when_run_again_by_another_administrator_then_nothing_changes(
    azure: LikeAzure, capsys: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(azure.url, autocommit=True) as connection:
        before = _everything(connection)
        prepare(azure.server("second_admin"), deployment(), label=Labels())
        assert _everything(connection) == before
    assert "there" in capsys.readouterr().out


def test_prepare_when_the_next_migration_is_another_administrators_then_it_may_change_the_tables(
    azure: LikeAzure,
) -> None:
    with azure.server("second_admin").connect(DATABASE, role=OWNER) as connection, connection.transaction():
        connection.execute("ALTER TABLE jobs ADD COLUMN of_the_next_release text")
        connection.execute("ALTER TABLE jobs DROP COLUMN of_the_next_release")


def test_prepare_gives_the_app_exactly_the_rights_that_are_written_down(azure: LikeAzure) -> None:
    with psycopg.connect(azure.url) as connection:
        rows = connection.execute(
            "SELECT table_name, privilege_type FROM information_schema.role_table_grants WHERE grantee = 'id-larkfield'"
        ).fetchall()
    given = {table: {right for name, right in rows if name == table} for table in RIGHTS}
    assert given == {table: set(rights) for table, rights in RIGHTS.items()}


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (n int)",
        "ALTER TABLE jobs ADD COLUMN mine text",
        "DROP TABLE outbox",
        "TRUNCATE job_runs",
        "DELETE FROM tickets",
        "SELECT * FROM schema_migrations",
        "CREATE EXTENSION pg_trgm",
        "CREATE ROLE mine",
        "CREATE SCHEMA mine",
        "SET ROLE azure_pg_admin",
    ],
)
def test_app_role_when_it_reaches_for_the_schema_then_refused(azure: LikeAzure, statement: str) -> None:
    with (
        psycopg.connect(azure.address("id-larkfield")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement)


def test_grant_when_a_migration_makes_a_table_nobody_thought_of_then_it_says_which(azure: LikeAzure) -> None:
    with azure.server().connect(DATABASE, role=OWNER) as connection, connection.transaction(force_rollback=True):
        connection.execute("CREATE TABLE forgotten (n int)")
        with pytest.raises(UnknownTables, match="forgotten"):
            grant(connection, "id-larkfield")


def test_ensure_role_ties_the_role_to_the_object_of_the_identity(azure: LikeAzure) -> None:
    labels = Labels()
    with azure.server().connect(DATABASE) as connection:
        assert not ensure_role(connection, deployment(), labels)
    assert labels.given == [("id-larkfield", "aadauth,oid=11111111-1111-1111-1111-111111111111,type=service")]


def test_server_when_it_does_not_answer_then_tries_until_the_time_is_up(azure: LikeAzure) -> None:
    said: list[str] = []
    with pytest.raises(psycopg.OperationalError):
        azure.server("nobody_knows_me").wait(DATABASE, within_s=0.3, say=said.append)
    assert len(said) == 1
    assert "nobody_knows_me" in said[0]
    azure.server().wait(DATABASE, within_s=0.3)


def test_deployment_when_outputs_are_missing_then_named() -> None:
    assert Deployment.read(OUTPUTS).is_private
    with pytest.raises(Incomplete, match="DATABASE_HOST"):
        Deployment.read({**OUTPUTS, "DATABASE_HOST": ""})


def _everything(connection: psycopg.Connection) -> list[tuple[object, ...]]:
    """Owners and rights of all tables, settings of roles, migrations with their times."""
    return [
        *connection.execute("SELECT relname, relowner, relacl::text FROM pg_class WHERE relkind = 'r' ORDER BY 1"),
        *connection.execute("SELECT setrole, setconfig FROM pg_db_role_setting ORDER BY 1"),
        *connection.execute("SELECT rolname, rolsuper, rolcreaterole FROM pg_roles ORDER BY 1"),
        *connection.execute("SELECT name, applied_at FROM schema_migrations ORDER BY 1"),
    ]
