"""A database that stands as Azure leaves it: an administrator who is no superuser, and a schema that is not his own."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from infra.database.deployment import Deployment
from infra.database.server import Server
from simulator.stack.postgres import Postgres

DATABASE = "larkfield"

# As on Azure, the template's schema belongs to azure_pg_admin and lets everybody make tables in it; only a superuser
# or azure_pg_admin may add the extension, so that one is here before.
AS_AZURE_LEAVES_IT = """
CREATE ROLE azure_pg_admin NOLOGIN;
CREATE ROLE first_admin LOGIN CREATEDB CREATEROLE IN ROLE azure_pg_admin;
CREATE ROLE second_admin LOGIN CREATEDB CREATEROLE IN ROLE azure_pg_admin;
"""
SCHEMA = """
ALTER SCHEMA public OWNER TO azure_pg_admin;
GRANT CREATE ON SCHEMA public TO PUBLIC;
CREATE EXTENSION vector;
"""


@dataclass(frozen=True)
class LikeAzure:
    """The server with the database `larkfield` on it; `url` is a superuser's, to look at what was made."""

    port: int
    url: str

    def server(self, admin: str = "first_admin") -> Server:
        return Server("127.0.0.1", self.port, admin, lambda: "a token", tls="disable")

    def address(self, role: str) -> str:
        return f"postgresql://{role}@127.0.0.1:{self.port}/{DATABASE}"


def make_like_azure(postgres: Postgres) -> LikeAzure:
    """Make roles and database on a server that has neither."""
    url = f"postgresql://postgres@127.0.0.1:{postgres.port}/{DATABASE}"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(AS_AZURE_LEAVES_IT)
        connection.execute(f"CREATE DATABASE {DATABASE} OWNER azure_pg_admin")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SCHEMA)
    return LikeAzure(postgres.port, url)


def deployment(app_role: str = "id-larkfield", object_id: str = "11111111-1111-1111-1111-111111111111") -> Deployment:
    return Deployment("/subscriptions/s/servers/p", "127.0.0.1", DATABASE, "first_admin", app_role, object_id, True)
