"""What the app's role may do: what its statements need, table by table, and nothing to the schema.

Rows that go with their job or ticket (ON DELETE CASCADE) are deleted in the owner's name, so few tables need DELETE.
"""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
from psycopg import sql

RIGHTS: Mapping[str, tuple[str, ...]] = {
    "approvals": ("SELECT", "INSERT", "UPDATE"),
    "artifacts": ("SELECT", "INSERT", "UPDATE"),
    "customers": ("SELECT", "INSERT", "UPDATE"),
    "idempotency_keys": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "job_runs": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "job_steps": ("SELECT", "INSERT", "UPDATE"),
    "jobs": ("SELECT", "INSERT", "UPDATE"),
    "outbox": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "poison_passes": ("SELECT", "INSERT", "UPDATE"),
    "provider_breakers": ("SELECT", "UPDATE"),
    "provider_lane": ("SELECT", "UPDATE"),
    "rate_windows": ("SELECT", "INSERT", "UPDATE"),
    "schema_migrations": (),
    "tickets": ("SELECT", "INSERT", "UPDATE"),
}


class UnknownTables(Exception):
    """The schema has tables of which RIGHTS says nothing, or the other way round."""


def grant(connection: psycopg.Connection, role: str) -> None:
    """Give `role` exactly RIGHTS, and nobody but the owner a say in the schema. Raises UnknownTables."""
    tables = {name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    if unclear := tables ^ RIGHTS.keys():
        raise UnknownTables(f"migrations/grants.py and the schema differ in {', '.join(sorted(unclear))}")
    app = sql.Identifier(role)
    with connection.transaction():
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        connection.execute(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {}").format(app))
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(app))
        for table, rights in RIGHTS.items():
            if rights:
                given = sql.SQL(", ").join(map(sql.SQL, rights))
                connection.execute(sql.SQL("GRANT {} ON {} TO {}").format(given, sql.Identifier("public", table), app))
