"""The way to Postgres: one pool a process, one statement a call, driver errors translated once.

Autocommit throughout, so that each statement is its own transaction; `run(…, in_transaction=True)` is for the few
places that need more than one. Nothing here depends on the session, so PgBouncer in transaction mode may stand in
between.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.rows import class_row, dict_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from shared.database_url import with_roots
from shared.errors import DatabaseUnavailable
from shared.timing import timed

T = TypeVar("T")
Params = Mapping[str, Any]
Row = dict[str, Any]
Connection = psycopg.AsyncConnection[Row]

CONNECT_TIMEOUT_S = 2
POOL_TIMEOUT_S = 2.0
LONGEST_S = 20.0  # a little over the role's statement_timeout
RECONNECT_TIMEOUT_S = 5.0
POOL_IDLE_S = 120.0

#: Until when (on the loop's clock) this request may wait for the database; None = as long as it takes.
deadline: contextvars.ContextVar[float | None] = contextvars.ContextVar("deadline", default=None)


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Turn "the database is away" in all its forms into DatabaseUnavailable; every other error is a fault of ours."""
    try:
        with timed("db"):
            yield
    except (PoolTimeout, PoolClosed, TooManyRequests, TimeoutError, psycopg.InterfaceError) as exc:
        raise DatabaseUnavailable from exc
    except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction) as exc:  # read-only: a failover
        raise DatabaseUnavailable from exc


class Database:
    """A pool of connections; every method raises DatabaseUnavailable when Postgres cannot be used right now.

    `prepare`: let the server keep the plans of statements, which halves its work; not through a PgBouncer in
    transaction mode, which knows no prepared statements unless it is told to (`max_prepared_statements`).
    `password`: asked for each new connection. A token is looked at when one connects, and connections outlive it.
    """

    def __init__(
        self, url: str, *, pool_size: int, prepare: bool = False, password: Callable[[], Awaitable[str]] | None = None
    ) -> None:
        fixed = {
            "autocommit": True,
            "prepare_threshold": 2 if prepare else None,
            "row_factory": dict_row,
            "connect_timeout": CONNECT_TIMEOUT_S,
            "application_name": "larkfield",
            "keepalives_idle": 5,  # seconds
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "tcp_user_timeout": 5000,  # milliseconds until a network that swallows packets counts as cut
        }

        async def options() -> dict[str, Any]:
            return fixed if password is None else {**fixed, "password": await password()}

        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            with_roots(url),
            connection_class=psycopg.AsyncConnection[Row],
            kwargs=options,
            min_size=1,
            max_size=pool_size,
            open=False,
            timeout=POOL_TIMEOUT_S,
            reconnect_timeout=RECONNECT_TIMEOUT_S,
            max_idle=POOL_IDLE_S,
            check=AsyncConnectionPool.check_connection,
            name="larkfield",
        )

    async def open(self) -> None:
        await self._pool.open(wait=False)

    async def close(self) -> None:
        await self._pool.close()

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, in_transaction: bool = False) -> T:
        """Lend `work` a connection, inside BEGIN … COMMIT if asked (ROLLBACK when it raises)."""
        async with translated():
            return await bounded(self._lend(work, in_transaction))

    async def fetch_all(
        self, query: LiteralString, params: Params, row: type[T], *, plan_anew: bool = False
    ) -> list[T]:
        """Run one statement; its rows as `row` objects, built by column name.

        `plan_anew`: for a statement whose best plan depends on its parameters, so that no kept plan fits.
        """

        async def work(connection: Connection) -> list[T]:
            async with connection.cursor(row_factory=class_row(row)) as cursor:
                await cursor.execute(query, params, prepare=False if plan_anew else None)
                return await cursor.fetchall()

        return await self.run(work)

    async def fetch_one(
        self, query: LiteralString, params: Params, row: type[T], *, plan_anew: bool = False
    ) -> T | None:
        """Run one statement; its first row as a `row` object, None when there is none."""
        rows = await self.fetch_all(query, params, row, plan_anew=plan_anew)
        return rows[0] if rows else None

    async def fetch_dicts(self, query: LiteralString, params: Params | None = None) -> list[Row]:
        """Run one statement; its rows as dictionaries."""

        async def work(connection: Connection) -> list[Row]:
            return await (await connection.execute(query, params)).fetchall()

        return await self.run(work)

    async def fetch_dict(self, query: LiteralString, params: Params | None = None) -> Row | None:
        """Run one statement; its first row as a dictionary, None when there is none."""
        rows = await self.fetch_dicts(query, params)
        return rows[0] if rows else None

    async def execute(self, query: LiteralString, params: Params | None = None) -> int:
        """Run one statement; how many rows it changed."""

        async def work(connection: Connection) -> int:
            return (await connection.execute(query, params)).rowcount

        return await self.run(work)

    async def _lend(self, work: Callable[[Connection], Awaitable[T]], in_transaction: bool) -> T:
        async with self._pool.connection() as connection:
            if not in_transaction:
                return await work(connection)
            async with connection.transaction():
                return await work(connection)


async def bounded(work: Coroutine[Any, Any, T]) -> T:
    """`work`, given up at this request's deadline, or after a time that no statement of ours takes.

    What is given up is not waited for: a driver that is told to stop asks the server first, and a server that hangs
    does not answer.
    """
    loop = asyncio.get_running_loop()
    ends = deadline.get() or loop.time() + LONGEST_S
    task = loop.create_task(work)
    try:
        await asyncio.wait({task}, timeout=max(0.0, ends - loop.time()))
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    if not task.done():
        raise TimeoutError
    return task.result()


async def insist(action: Callable[[], Awaitable[T]], *, for_s: float) -> T:
    """Do `action`; while the database is away do it again, for `for_s` seconds, then raise DatabaseUnavailable.

    For statements that are safe to send twice.
    """
    until = time.monotonic() + for_s
    wait_s = 0.2
    while True:
        try:
            return await action()
        except DatabaseUnavailable:
            if time.monotonic() + wait_s > until:
                raise
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, 3.0)
