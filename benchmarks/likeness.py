"""A help desk's embeddings, made up: topics with variants, favourites of each workspace, every writer's own way.

Vectors of pure noise resemble no text: real ones are near to many of their kind, lie in few of their dimensions, and
share a direction. Here two tickets of different topics have a cosine around 0.15.
"""

import math
import time
from collections.abc import Sequence
from random import Random
from typing import Final, LiteralString

import psycopg

DIMENSIONS: Final = 384
TOPICS, VARIANTS, MANNERS = 300, 10, 3000
FAVOURITES = 30

#: Tickets of each of 50 workspaces: a few large, many of a thousand or two, some hardly any.
SIZES: tuple[int, ...] = (
    *(15_090, 12_000, 9_000, 7_000, 6_000, 4_500, 4_000, 3_500),
    *(3_000 - 130 * place for place in range(18)),
    *([300] * 14),
    *([100] * 5),
    *([20] * 5),
)
VERSION: Final = "embed-small-384-v1"

POOL: LiteralString = """
CREATE TEMPORARY TABLE variants (id integer PRIMARY KEY, direction vector(384));
CREATE TEMPORARY TABLE manners (id integer PRIMARY KEY, direction vector(384));
CREATE TEMPORARY TABLE drawn (place serial, workspace_id text, variant integer, manner integer, other integer)
"""
TICKETS: LiteralString = """
INSERT INTO tickets (customer_id, workspace_id, subject, body, channel, team, priority, draft_reply, embedding,
                     embedding_version)
SELECT 'C-0022', workspace_id, 'Subject ' || place, repeat('Two payments for one order. ', 1 + place %% 40), 'email',
       'billing', 1, repeat('Thank you for your message. ', 10),
       l2_normalize(variants.direction + one.direction + two.direction), %(version)s
FROM drawn JOIN variants ON variants.id = variant
    JOIN manners AS one ON one.id = manner JOIN manners AS two ON two.id = other ORDER BY place
"""
INDEX: LiteralString = """
CREATE INDEX tickets_by_likeness ON tickets USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops)
"""


def fill(connection: psycopg.Connection, seed: int = 7) -> float:
    """Put the tickets of all workspaces (`w0` …) into the table; seconds that making the index took."""
    rng = Random(seed)
    connection.execute("SET statement_timeout = 0; SET maintenance_work_mem = '512MB'; DROP INDEX tickets_by_likeness")
    connection.execute(POOL)
    _copy(connection, "COPY variants FROM STDIN", [(at, str(each)) for at, each in enumerate(_variants(rng))])
    _copy(connection, "COPY manners FROM STDIN", [(at, str(each)) for at, each in enumerate(_manners(rng))])
    _copy(connection, "COPY drawn (workspace_id, variant, manner, other) FROM STDIN", _draw(rng))
    connection.execute(TICKETS, {"version": VERSION})
    began = time.monotonic()
    connection.execute(INDEX)
    took_s = time.monotonic() - began
    connection.execute("VACUUM ANALYZE tickets")
    return took_s


def _draw(rng: Random) -> list[tuple[object, ...]]:
    """For every ticket, in a random order: its workspace, what it is about, and how it is written."""
    owners = [at for at, size in enumerate(SIZES) for _ in range(size)]
    rng.shuffle(owners)
    favourites = [[rng.randrange(TOPICS) for _ in range(FAVOURITES)] for _ in SIZES]
    drawn: list[tuple[object, ...]] = []
    for owner in owners:
        usual = favourites[owner][min(FAVOURITES - 1, int(rng.expovariate(1 / 8)))]
        topic = usual if rng.random() < 0.85 else rng.randrange(TOPICS)
        variant = min(VARIANTS - 1, int(rng.expovariate(1 / 4)))
        drawn.append((f"w{owner}", topic * VARIANTS + variant, rng.randrange(MANNERS), rng.randrange(MANNERS)))
    return drawn


def _variants(rng: Random) -> list[list[float]]:
    shared = _direction(rng, 0.5)
    topics = [_add(shared, _direction(rng, 1)) for _ in range(TOPICS)]
    return [_add(topic, _direction(rng, 0.55)) for topic in topics for _ in range(VARIANTS)]


def _manners(rng: Random) -> list[list[float]]:
    """Of few dimensions, some of them stronger than others, and a little of all."""
    axes = [_direction(rng, 0.35 / math.sqrt(1 + at / 4)) for at in range(40)]
    return [_add(_direction(rng, 0.18), *rng.sample(axes, 4)) for _ in range(MANNERS)]


def _direction(rng: Random, length: float) -> list[float]:
    spread = length / math.sqrt(DIMENSIONS)
    return [rng.gauss(0, spread) for _ in range(DIMENSIONS)]


def _add(*vectors: Sequence[float]) -> list[float]:
    return [sum(parts) for parts in zip(*vectors, strict=True)]


def _copy(connection: psycopg.Connection, statement: LiteralString, rows: Sequence[tuple[object, ...]]) -> None:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
