"""Similar tickets among 100,000 in 50 workspaces: how many of the true nearest five are found, and how fast.

Asked through HTTP, for tickets of large, middle and small workspaces; the truth is a comparison with every ticket of
the workspace. Then what the index costs where it is written: when a ticket's embedding is saved.
"""

import argparse
import time
from collections.abc import Sequence
from random import Random
from typing import LiteralString

import httpx
import psycopg

from benchmarks.figures import Figure, at_least, at_most, milliseconds
from benchmarks.likeness import SIZES, fill
from benchmarks.load import client_of
from benchmarks.servers import open_site
from shared.similar import EXACT_UP_TO
from simulator.customers import percentile

K = 5
LIMIT_S = 0.05
GROUPS = {
    f"workspaces above {EXACT_UP_TO:,}": range(EXACT_UP_TO + 1, 10**9),
    f"workspaces of 301–{EXACT_UP_TO:,}": range(301, EXACT_UP_TO + 1),
    "workspaces of 20–300": range(301),
}

SAMPLE: LiteralString = """
SELECT ticket_id FROM tickets WHERE workspace_id = ANY(%(workspaces)s) ORDER BY hashint8(ticket_id) LIMIT %(count)s
"""
# What a ticket may be: as near as the last of the true ones, whichever of equals that is.
TRUTH: LiteralString = """
SELECT own.embedding <=> other.embedding AS distance
FROM tickets AS own JOIN tickets AS other ON other.workspace_id = own.workspace_id AND other.ticket_id <> own.ticket_id
WHERE own.ticket_id = %(ticket_id)s ORDER BY distance LIMIT %(k)s
"""
EMBEDDING: LiteralString = """
UPDATE tickets SET embedding = (SELECT embedding FROM tickets WHERE ticket_id = %(like)s), team = 'billing'
WHERE ticket_id = %(ticket_id)s
"""
NEW: LiteralString = """
INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)
VALUES ('C-0022', 'w0', 'Charged twice', 'Two payments for one order.', 'email') RETURNING ticket_id
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=300, help="tickets asked for of each group (%(default)s)")


async def measure(asked: argparse.Namespace) -> list[Figure]:
    with open_site() as site, psycopg.connect(site.database_url, autocommit=True) as connection:
        made_in_s = fill(connection)
        figures = [Figure("the index of 100,000 is made in", f"{made_in_s:.0f} s")]
        with site.make_host("host") as host:
            async with client_of(host) as client:
                for name, sizes in GROUPS.items():
                    workspaces = [f"w{at}" for at, size in enumerate(SIZES) if size in sizes]
                    figures += await _ask(client, connection, name, workspaces, asked.count)
        figures += _write(connection, asked.count)
    return figures


async def _ask(
    client: httpx.AsyncClient, connection: psycopg.Connection, name: str, workspaces: Sequence[str], count: int
) -> list[Figure]:
    found, times = 0.0, []
    ids = [row[0] for row in connection.execute(SAMPLE, {"workspaces": workspaces, "count": count})]
    for ticket_id in ids:
        began = time.monotonic()
        answer = await client.get(f"/v1/tickets/T-{ticket_id}/similar", params={"k": K})
        times.append(time.monotonic() - began)
        truth = connection.execute(TRUTH, {"ticket_id": ticket_id, "k": K}).fetchall()
        near = answer.raise_for_status().json()["items"]
        found += sum(item["similarity"] >= 1 - truth[-1][0] - 1e-6 for item in near) / len(truth)
    return [
        at_least(f"{name}: recall@{K}", found / len(ids), 0.95, ""),
        milliseconds(f"{name}: p50", times, 0.5),
        at_most(f"{name}: p95", 1000 * percentile(times, 0.95), 1000 * LIMIT_S, "ms"),
    ]


def _write(connection: psycopg.Connection, count: int) -> list[Figure]:
    """What the insert of a ticket and the saving of its embedding take, with the index and without it."""
    figures = []
    for name in ("with the index", "without"):
        if name == "without":
            connection.execute("DROP INDEX tickets_by_likeness")
        inserts, updates = _save(connection, count)
        figures.append(milliseconds(f"a ticket inserted, {name}: p50", inserts, 0.5))
        figures.append(milliseconds(f"its embedding saved, {name}: p50", updates, 0.5))
    return figures


def _save(connection: psycopg.Connection, count: int) -> tuple[list[float], list[float]]:
    inserts, updates, rng = [], [], Random(1)
    for _ in range(count):
        began = time.monotonic()
        (ticket_id,) = connection.execute(NEW).fetchone() or (0,)
        inserted = time.monotonic()
        connection.execute(EMBEDDING, {"ticket_id": ticket_id, "like": 500_001 + rng.randrange(sum(SIZES))})
        updates.append(time.monotonic() - inserted)
        inserts.append(inserted - began)
    return inserts, updates
