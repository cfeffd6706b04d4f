"""`python -m migrations`: bring the database named by DATABASE_URL to the newest schema.

Every file runs in one transaction of its own and is recorded in `schema_migrations`; a file whose first line is
`-- no transaction` runs statement by statement (for CREATE INDEX CONCURRENTLY). Two runs at once wait for each
other on a session lock, so DATABASE_URL must be a direct connection, not one through PgBouncer.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from pathlib import Path

import psycopg
from psycopg import sql

from migrations.grants import grant

FOLDER = Path(__file__).parent
LOCK = 7_305_519_121  # any number that nobody else uses in this database
LOCK_TRIES = 30

# On the role and not by SET: a pooled connection would hand the value to a stranger, or lose it.
ROLE_LIMITS = {
    "statement_timeout": "15s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "30s",
}


class ChangedMigration(Exception):
    """A file that has been applied before reads differently now."""


def migrate(url: str, *, app_role: str | None = None, say: bool = True) -> list[str]:
    """Apply what is missing and return the names, in order; `app_role` (default: the connected one) gets the limits.

    A role that is named gets its rights too: exactly those of migrations/grants.py.
    """
    applied = []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        connection.execute("SET lock_timeout = 0")
        take_turn(connection)
        connection.execute("SET lock_timeout = '2s'")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations"
            " (name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        done: dict[str, str] = dict(connection.execute("SELECT name, sha256 FROM schema_migrations").fetchall())
        for path in sorted(FOLDER.glob("[0-9]*.sql")):
            if path.stem not in done:
                apply(connection, path)
                applied.append(path.stem)
                if say:
                    print(f"applied {path.stem}", flush=True)
            elif done[path.stem] != fingerprint(path):
                raise ChangedMigration(
                    f"{path.name} is not what was applied to this database: a change needs a file of its own"
                    " (for local data: `make reset`)"
                )
        limit_role(connection, app_role)
        if app_role:
            grant(connection, app_role)
    return applied


def take_turn(connection: psycopg.Connection) -> None:
    """Wait for whoever migrates now: by asking, because CREATE INDEX CONCURRENTLY waits for every open statement."""
    while connection.execute("SELECT pg_try_advisory_lock(%s)", (LOCK,)).fetchone() != (True,):
        time.sleep(0.1)


def apply(connection: psycopg.Connection, path: Path) -> None:
    """Run one file; a lock that cannot be had within 2 s is tried again, so that live traffic is never held up."""
    text = path.read_text(encoding="utf-8")
    for attempt in range(1, LOCK_TRIES + 1):
        try:
            if text.startswith("-- no transaction"):
                for statement in filter(str.strip, text.split(";\n")):
                    connection.execute(statement)
                record(connection, path)
            else:
                with connection.transaction():
                    connection.execute(text)
                    record(connection, path)
            return
        except psycopg.errors.LockNotAvailable:
            if attempt == LOCK_TRIES:
                raise
            time.sleep(1)


def record(connection: psycopg.Connection, path: Path) -> None:
    connection.execute("INSERT INTO schema_migrations (name, sha256) VALUES (%s, %s)", (path.stem, fingerprint(path)))


def fingerprint(path: Path) -> str:
    """Of the text, whatever the ends of its lines."""
    return hashlib.sha256(path.read_text(encoding="utf-8").encode()).hexdigest()


def limit_role(connection: psycopg.Connection, role: str | None) -> None:
    """Give the app's role its time limits in this database, where they are not set already."""
    row = connection.execute("SELECT current_database(), current_user").fetchone()
    if row is None:
        raise RuntimeError("the database did not say its name")
    database, name = row[0], role or row[1]
    current = connection.execute(
        "SELECT unnest(setconfig) FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase"
        " JOIN pg_roles r ON r.oid = s.setrole WHERE d.datname = %s AND r.rolname = %s",
        (database, name),
    ).fetchall()
    have = {line.partition("=")[0] for (line,) in current}
    for key, value in ROLE_LIMITS.items():
        if key not in have:
            connection.execute(
                sql.SQL("ALTER ROLE {} IN DATABASE {} SET {} = {}").format(
                    sql.Identifier(name), sql.Identifier(database), sql.Identifier(key), sql.Literal(value)
                )
            )


def main() -> int:
    url = os.environ.get("DATABASE_URL")
    if not url:
        print("migrations: set DATABASE_URL to the database's address", file=sys.stderr)
        return 2
    try:
        if not migrate(url, app_role=os.environ.get("APP_ROLE")):
            print("nothing to apply: the schema is the newest")
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as exc:
        if "vector" not in str(exc):
            raise
        print("migrations: this Postgres has no pgvector: install the extension `vector` first", file=sys.stderr)
        return 1
    except (ChangedMigration, psycopg.errors.RaiseException) as exc:
        print(f"migrations: {str(exc).splitlines()[0]}", file=sys.stderr)
        return 1
    except psycopg.OperationalError as exc:
        print(f"migrations: cannot reach the database: {str(exc).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
