"""`python -m simulator.data [--reset]`: put the made-up customers and their finished tickets into DATABASE_URL.

Harmless to run again: it adds what is missing, and once its oldest ticket has left the last seven days it moves them
all forward. `--reset` empties the app's tables first. In an empty database new tickets start at T-500001, jobs at 1.
"""

import argparse
import os
import sys
from datetime import UTC, datetime
from typing import Final, LiteralString

import psycopg
from psycopg import sql

from simulator.provider.answers import draft_reply, find_priority, find_team
from simulator.provider.embedding import embed
from simulator.shop import FIRST_TICKET, PERIOD, TICKETS, Ticket, make_customers, make_tickets

EMBEDDING_VERSION: Final = "embed-small-384-v1"
_LAST_TICKET: Final = FIRST_TICKET + sum(TICKETS.values()) - 1
_LOCK: Final = 7_305_519_122  # any number that nobody else uses in this database
# Filled by migrations; the app only changes what is there.
KEPT_TABLES: Final = ["schema_migrations", "provider_lane", "provider_breakers"]

TABLES: LiteralString = """
SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> ALL(%s)
"""
START_AGAIN: LiteralString = """
SELECT setval(pg_get_serial_sequence('jobs', 'job_id'), 1, false) WHERE NOT EXISTS (SELECT FROM jobs)
UNION ALL
SELECT setval(pg_get_serial_sequence('tickets', 'ticket_id'), 500001, false)
WHERE NOT EXISTS (SELECT FROM tickets)
"""
ADD_CUSTOMER: LiteralString = """
INSERT INTO customers (customer_id, name, workspace_id) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING
"""
COUNT_TICKETS: LiteralString = """
SELECT count(*), min(created_at), max(created_at) FROM tickets WHERE ticket_id BETWEEN %s AND %s
"""
ADD_TICKET: LiteralString = """
INSERT INTO tickets (ticket_id, customer_id, workspace_id, subject, body, channel, created_at, team, priority,
                     draft_reply, embedding, embedding_version)
VALUES (%(ticket_id)s, %(customer_id)s, %(workspace_id)s, %(subject)s, %(body)s, %(channel)s, %(created_at)s, %(team)s,
        %(priority)s, %(draft_reply)s, %(embedding)s::text::vector, %(embedding_version)s)
ON CONFLICT DO NOTHING
"""
MOVE_TICKETS: LiteralString = """
UPDATE tickets SET created_at = created_at + %s WHERE ticket_id BETWEEN %s AND %s
"""


def load(url: str, *, reset: bool = False, now: datetime | None = None) -> list[str]:
    """Load the data set in one transaction and say line by line what was done; `now` is when it is up to date."""
    now = now or datetime.now(UTC)
    with psycopg.connect(url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        done = [_empty(connection)] if reset else []
        connection.execute(START_AGAIN)
        done += [_add_customers(connection), _add_tickets(connection, now)]
        done += _keep_fresh(connection, now)
        return done


def _empty(connection: psycopg.Connection) -> str:
    tables = [name for (name,) in connection.execute(TABLES, (KEPT_TABLES,))]
    names = sql.SQL(", ").join(map(sql.Identifier, tables))
    connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(names))
    return f"emptied {', '.join(sorted(tables))}"


def _add_customers(connection: psycopg.Connection) -> str:
    customers = [(each.customer_id, each.name, each.workspace_id) for each in make_customers()]
    with connection.cursor() as cursor:
        cursor.executemany(ADD_CUSTOMER, customers)
        return f"customers: {len(customers)} wanted, {cursor.rowcount} added"


def _add_tickets(connection: psycopg.Connection, now: datetime) -> str:
    wanted = sum(TICKETS.values())
    row = connection.execute(COUNT_TICKETS, (FIRST_TICKET, _LAST_TICKET)).fetchone()
    if row and row[0] == wanted:
        return f"tickets: {wanted} wanted, 0 added"
    with connection.cursor() as cursor:
        cursor.executemany(ADD_TICKET, [_ticket_row(ticket, now) for ticket in make_tickets(now)])
        spread = ", ".join(f"{count} in {workspace}" for workspace, count in TICKETS.items())
        return f"tickets: {wanted} wanted ({spread}), {cursor.rowcount} added"


def _ticket_row(ticket: Ticket, now: datetime) -> dict[str, object]:
    asked = f"Subject: {ticket.text}"
    return {
        "ticket_id": ticket.ticket_id,
        "customer_id": ticket.customer.customer_id,
        "workspace_id": ticket.customer.workspace_id,
        "subject": ticket.story.subject,
        "body": ticket.story.body,
        "channel": ticket.story.channel,
        "created_at": now - ticket.age,
        "team": find_team(asked),
        "priority": find_priority(asked),
        "draft_reply": draft_reply(asked),
        "embedding": str(embed(ticket.text)),
        "embedding_version": EMBEDDING_VERSION,
    }


def _keep_fresh(connection: psycopg.Connection, now: datetime) -> list[str]:
    row = connection.execute(COUNT_TICKETS, (FIRST_TICKET, _LAST_TICKET)).fetchone()
    if row is None or now - row[1] <= PERIOD:
        return []
    connection.execute(MOVE_TICKETS, (now - row[2], FIRST_TICKET, _LAST_TICKET))
    return [f"tickets: {row[0]} moved forward, so that they are of the last {PERIOD.days} days"]


def main() -> int:
    """2 without DATABASE_URL, 1 if the database cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m simulator.data", description=__doc__)
    parser.add_argument("--reset", action="store_true", help="empty the app's tables first")
    asked = parser.parse_args()
    url = os.environ.get("DATABASE_URL")
    if not url:
        print("data: set DATABASE_URL to the database's address", file=sys.stderr)
        return 2
    try:
        print("\n".join(load(url, reset=asked.reset)))
    except psycopg.errors.UndefinedTable:
        print("data: this database has no tables yet: run `python -m migrations` first", file=sys.stderr)
        return 1
    except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
        print(f"data: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
