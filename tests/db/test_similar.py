"""Similar tickets in a database that has many: found by an index within their workspace, or one by one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, LiteralString
from urllib.parse import quote

import psycopg
import pytest

from migrations.__main__ import FOLDER, apply, migrate
from shared import similar
from shared.db import Connection, Database
from simulator.stack.postgres import Postgres

LARGE, OTHERS, SMALL = 1_500, 500, 8

# Texts of 40 topics: a ticket's vector is its topic's, and a little of its own. A version of its own for every tenth.
SEED = """
SET session_replication_role = replica;
SELECT setseed(0.5);
CREATE TEMPORARY TABLE topics AS
SELECT topic, ARRAY(SELECT random() - 0.5 + 0 * topic FROM generate_series(1, 384))::vector(384) AS direction
FROM generate_series(0, 39) AS topic;
INSERT INTO tickets (ticket_id, customer_id, workspace_id, subject, body, channel, embedding, embedding_version)
SELECT n, 'C-1000', CASE WHEN n <= :large THEN 'large' WHEN n <= :large + :small THEN 'small' ELSE 'other' END,
       'Subject ' || n, '', 'email',
       direction + ARRAY(SELECT (random() - 0.5) / 2 + 0 * n FROM generate_series(1, 384))::vector(384),
       CASE WHEN n % 10 = 0 THEN 'old' ELSE 'new' END
FROM generate_series(1, :large + :small + :others) AS n JOIN topics ON topic = n % 40;
"""

#: The same question without any index.
TRUTH: LiteralString = """
SELECT other.ticket_id FROM tickets AS own JOIN tickets AS other
    ON other.workspace_id = own.workspace_id AND other.embedding_version = own.embedding_version
   AND other.ticket_id <> own.ticket_id
WHERE own.ticket_id = %(ticket_id)s ORDER BY own.embedding <=> other.embedding LIMIT %(k)s
"""


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> Iterator[str]:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE likeness")
        url = postgres.url.rsplit("/", 1)[0] + "/likeness"
        migrate(url, say=False)
        with psycopg.connect(url, autocommit=True) as likeness:
            likeness.execute("DROP INDEX tickets_by_likeness")
            likeness.execute("DELETE FROM schema_migrations WHERE name = '0009_similar'")
            seed = SEED.replace(":large", str(LARGE)).replace(":small", str(SMALL)).replace(":others", str(OTHERS))
            likeness.execute(seed)
            apply(likeness, FOLDER / "0009_similar.sql")  # an index is made in a fraction of the time it grows in
            likeness.execute("VACUUM ANALYZE tickets")
        yield url
        connection.execute("DROP DATABASE likeness WITH (FORCE)")


@pytest.fixture
async def likeness(url: str) -> AsyncIterator[Database]:
    db = Database(url, pool_size=1)
    await db.open()
    yield db
    await db.close()


async def find(db: Database, ticket_id: int, k: int, *, exact_up_to: int) -> list[int]:
    place = await similar.look(db, ticket_id, exact_up_to=exact_up_to)
    assert place is not None
    return [row.ticket_id for row in await similar.nearest(db, place, k)]


async def truth(db: Database, ticket_id: int, k: int) -> list[int]:
    return [row["ticket_id"] for row in await db.fetch_dicts(TRUTH, {"ticket_id": ticket_id, "k": k})]


async def test_similar_when_a_workspace_is_small_or_compared_one_by_one_then_exactly_the_nearest(
    likeness: Database,
) -> None:
    for ticket_id in (1, 10, LARGE + 1, LARGE + SMALL + 5):
        for k in (1, 5, 20):
            expected = await truth(likeness, ticket_id, k)
            assert await find(likeness, ticket_id, k, exact_up_to=5_000) == expected, (ticket_id, k)
    assert len(await find(likeness, LARGE + 1, 20, exact_up_to=5_000)) == SMALL - 1


async def test_similar_when_the_index_proposes_then_nearly_all_of_the_nearest_and_none_of_others(
    likeness: Database,
) -> None:
    hits = 0
    for ticket_id in range(1, 400, 8):
        found = await find(likeness, ticket_id, 5, exact_up_to=100)
        hits += len(set(found) & set(await truth(likeness, ticket_id, 5)))
        rows = await likeness.fetch_dicts(
            "SELECT count(*) AS same FROM tickets JOIN tickets AS own ON own.ticket_id = %(own)s"
            " WHERE tickets.ticket_id = ANY(%(found)s) AND tickets.workspace_id = own.workspace_id"
            " AND tickets.embedding_version = own.embedding_version",
            {"own": ticket_id, "found": found},
        )
        assert rows == [{"same": 5}]
    assert hits >= 0.97 * 250


async def test_similar_when_the_index_gives_up_then_one_by_one(url: str) -> None:
    """As in a workspace that is a small part of a huge table."""
    impatient = quote("-c hnsw.max_scan_tuples=1 -c hnsw.ef_search=1")
    db = Database(f"{url}?options={impatient}", pool_size=1)
    await db.open()
    assert await find(db, LARGE + 1, 5, exact_up_to=2) == await truth(db, LARGE + 1, 5)
    await db.close()


async def plan_of(db: Database, statement: LiteralString, ticket_id: int) -> str:
    place = await similar.look(db, ticket_id)
    assert place is not None
    params: dict[str, Any] = {
        "ticket_id": ticket_id,
        "workspace_id": place.workspace_id,
        "embedding_version": place.embedding_version,
        "k": 5,
        "proposed": 20,
    }

    async def explain(connection: Connection) -> str:
        await connection.execute(similar.GO_ON)
        rows = await (await connection.execute("EXPLAIN " + statement, params)).fetchall()
        return "\n".join(row["QUERY PLAN"] for row in rows)

    return await db.run(explain, in_transaction=True)


async def test_plans_then_each_way_has_its_index_and_reads_no_other_workspace_or_none_at_all(
    likeness: Database,
) -> None:
    by_index = await plan_of(likeness, similar.BY_INDEX, 1)
    assert "Index Scan using tickets_by_likeness" in by_index
    exact = await plan_of(likeness, similar.EXACT, LARGE + 1)
    assert "tickets_embedded" in exact
    assert "Seq Scan" not in by_index + exact


async def test_settings_of_a_scan_then_end_with_it(likeness: Database) -> None:
    async def settings() -> object:
        return await likeness.fetch_dict(
            "SELECT current_setting('hnsw.ef_search', true) AS ef, current_setting('hnsw.iterative_scan', true) AS scan"
        )

    await likeness.fetch_dicts("SELECT '[1]'::vector")
    before = await settings()
    assert len(await find(likeness, 1, 5, exact_up_to=100)) == 5
    assert await settings() == before == {"ef": "40", "scan": "off"}
