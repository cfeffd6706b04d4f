"""The app's role in Postgres: it signs in with the token of the app's identity, and owns nothing."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from psycopg import sql

from infra.database.deployment import Deployment
from migrations.__main__ import limit_role

Label = Callable[[psycopg.Connection, str, str], None]

LABEL_OF = "SELECT label FROM pg_seclabels WHERE provider = 'pgaadauth' AND objtype = 'role' AND objname = %s"


def label_role(connection: psycopg.Connection, role: str, label: str) -> None:
    """Tie the role to an identity. Azure lets only an Entra administrator do that."""
    connection.execute(
        sql.SQL('SECURITY LABEL FOR "pgaadauth" ON ROLE {} IS {}').format(sql.Identifier(role), sql.Literal(label))
    )


def ensure_role(connection: psycopg.Connection, deployment: Deployment, label: Label = label_role) -> bool:
    """Make the app's role where it is missing and tie it to the app's identity; whether it was made.

    CREATE ROLE and a label, and not pgaadauth_create_principal: that one makes the role in the name of a superuser, and
    since Postgres 16 only its maker may set the role's time limits.
    """
    role = deployment.app_role
    is_new = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None
    if is_new:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
    wanted = f"aadauth,oid={deployment.app_object_id},type=service"
    known = connection.execute(LABEL_OF, (sql.Identifier(role).as_string(connection),)).fetchone()
    if known is None or known[0] != wanted:
        label(connection, role, wanted)
    limit_role(connection, role)
    return is_new
