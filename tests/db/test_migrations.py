"""Migrations: in order, once, one run at a time, and with the limits of the app's role."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from migrations.__main__ import FOLDER, ChangedMigration, migrate
from simulator.stack.postgres import Postgres

NAMES = sorted(path.stem for path in FOLDER.glob("[0-9]*.sql"))


@pytest.fixture
async def empty_url(postgres: Postgres) -> AsyncIterator[str]:
    """A database with nothing in it, not even the schema."""
    name = f"empty_{secrets.token_hex(4)}"
    async with await psycopg.AsyncConnection.connect(postgres.url, autocommit=True) as connection:
        await connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield postgres.url.removesuffix("/postgres") + f"/{name}"
        await connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


async def run_module(url: str | None) -> tuple[int, str, str]:
    """`python -m migrations`: exit code, output, errors."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "APP_ROLE")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "migrations"),
        cwd=Path(FOLDER).parent,
        env=environment | ({"DATABASE_URL": url} if url else {}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


def rows(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def test_files_then_numbered_without_gap_or_double() -> None:
    numbers = [int(name.split("_")[0]) for name in NAMES]
    assert numbers == list(range(1, len(NAMES) + 1))


async def test_module_when_database_is_empty_then_says_each_file_in_order_and_second_time_none(empty_url: str) -> None:
    assert await run_module(empty_url) == (0, "".join(f"applied {name}\n" for name in NAMES), "")

    code, out, err = await run_module(empty_url)

    assert (code, err) == (0, "")
    assert "applied" not in out
    assert [name for (name,) in rows(empty_url, "SELECT name FROM schema_migrations ORDER BY applied_at")] == NAMES


async def test_two_runs_at_once_then_each_file_is_applied_once(empty_url: str) -> None:
    first, second = await asyncio.gather(
        asyncio.to_thread(migrate, empty_url, say=False), asyncio.to_thread(migrate, empty_url, say=False)
    )

    assert sorted(first + second) == NAMES
    assert [] in (first, second)


async def test_run_when_an_earlier_release_stopped_halfway_then_only_the_rest_is_applied(empty_url: str) -> None:
    migrate(empty_url, say=False)
    with psycopg.connect(empty_url) as connection:
        connection.execute("DROP TABLE outbox CASCADE")
        connection.execute("DELETE FROM schema_migrations WHERE name = '0003_outbox'")

    assert migrate(empty_url, say=False) == ["0003_outbox"]


async def test_run_then_new_sessions_of_the_role_have_its_limits(empty_url: str) -> None:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        role = f"app-{secrets.token_hex(4)}"
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        try:
            migrate(empty_url, app_role=role, say=False)
            url = empty_url.replace("//postgres@", f"//{role}@")
            limits = {
                name: rows(url, f"SHOW {name}")[0][0]
                for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
            }
        finally:
            connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))
    assert limits == {
        "statement_timeout": "15s",
        "lock_timeout": "5s",
        "idle_in_transaction_session_timeout": "30s",
    }


async def test_module_when_there_is_no_address_or_nobody_there_then_says_so_in_one_line() -> None:
    code, out, err = await run_module(None)
    assert (code, out, err) == (2, "", "migrations: set DATABASE_URL to the database's address\n")

    code, out, err = await run_module("postgresql://postgres@127.0.0.1:1/postgres")

    assert (code, out) == (1, "")
    assert err.startswith("migrations: cannot reach the database: ")
    assert err.count("\n") == 1


def test_migration_when_changed_after_it_was_applied_then_refused_and_named(empty_url: str) -> None:
    migrate(empty_url, say=False)
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("UPDATE schema_migrations SET sha256 = 'another' WHERE name = '0002_jobs'")
    with pytest.raises(ChangedMigration, match=r"0002_jobs\.sql"):
        migrate(empty_url, say=False)


async def test_module_when_pgvector_is_too_old_then_says_so_in_one_line(empty_url: str) -> None:
    migrate(empty_url, say=False)
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("DELETE FROM schema_migrations WHERE name = '0009_similar'")
        connection.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")

    code, out, err = await run_module(empty_url)

    assert (code, out) == (1, "")
    assert err.startswith("migrations: pgvector is older than 0.8")
    assert err.count("\n") == 1
