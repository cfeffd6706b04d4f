"""The database that the app gets: yours from DATABASE_URL, or the embedded one."""

import psycopg

from simulator.stack.errors import StackError


def require_vector(url: str) -> None:
    """Raise StackError unless the server answers and has pgvector to offer."""
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            found = connection.execute("SELECT FROM pg_available_extensions WHERE name = 'vector'").fetchone()
            version = connection.info.server_version // 10_000
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0]
        raise StackError(f"the database does not answer: {reason}") from error
    if found is None:
        raise StackError(
            f"this Postgres {version} has no pgvector: install it (Debian: apt-get install"
            f" postgresql-{version}-pgvector), or unset DATABASE_URL to use the embedded one"
        )
