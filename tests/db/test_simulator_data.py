"""The made-up data set goes into a real database once, however often it is loaded."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from migrations.__main__ import migrate
from simulator import data
from simulator.stack.postgres import Postgres


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> Iterator[str]:
    """A database of this module's own, with the newest schema and nothing in it."""
    name = f"data_{secrets.token_hex(4)}"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        own = make_conninfo(postgres.url, dbname=name)
        migrate(own, say=False)
        yield own
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def query(url: str, text: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(text.encode()).fetchall()


def send_ticket(url: str) -> int:
    """A new ticket, as the app would insert it."""
    text = """
    INSERT INTO tickets (customer_id, workspace_id, subject, body, channel)
    VALUES ('C-0022', 'team_42', 'New', '', 'email') RETURNING ticket_id
    """
    ticket_id = query(url, text)[0][0]
    assert isinstance(ticket_id, int)
    return ticket_id


def test_tables_that_migrations_fill_then_are_the_ones_a_reset_keeps(url: str) -> None:
    tables = [str(name) for (name,) in query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    filled = [name for name in tables if query(url, f"SELECT 1 FROM {name} LIMIT 1")]
    assert sorted(filled) == sorted(data.KEPT_TABLES)


def test_load_when_the_database_is_empty_then_makes_the_data_set(url: str) -> None:
    data.load(url, reset=True)
    assert query(url, "SELECT workspace_id, count(*) FROM customers GROUP BY 1 ORDER BY 1") == [
        ("team_42", 40),
        ("team_7", 20),
    ]
    assert query(url, "SELECT workspace_id FROM customers WHERE customer_id = 'C-0022'") == [("team_42",)]
    recent = """
    SELECT workspace_id, count(*), count(DISTINCT channel), count(DISTINCT created_at::date) >= 7
    FROM tickets WHERE created_at BETWEEN now() - interval '7 days' AND now() AND team IS NOT NULL
     AND priority IS NOT NULL AND draft_reply <> '' AND embedding_version = 'embed-small-384-v1'
     AND abs(vector_norm(embedding) - 1) < 0.001
    GROUP BY 1 ORDER BY 1
    """
    assert query(url, recent) == [("team_42", 300, 4, True), ("team_7", 60, 4, True)]
    assert query(url, "SELECT count(DISTINCT team) FROM tickets WHERE workspace_id = 'team_42'") == [(5,)]


def test_load_when_reset_then_new_tickets_start_at_500001_and_jobs_at_1(url: str) -> None:
    data.load(url)
    send_ticket(url)
    data.load(url, reset=True)
    assert send_ticket(url) == 500_001
    assert query(url, "SELECT nextval(pg_get_serial_sequence('jobs', 'job_id'))") == [(1,)]


def test_load_when_run_again_then_changes_nothing(url: str) -> None:
    data.load(url, reset=True)
    new = send_ticket(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE customers SET name = 'Renamed' WHERE customer_id = 'C-0001'")
    everything = "SELECT * FROM tickets JOIN customers USING (customer_id) ORDER BY ticket_id"
    before = query(url, everything)
    assert data.load(url) == ["customers: 60 wanted, 0 added", "tickets: 360 wanted, 0 added"]
    assert query(url, everything) == before
    assert send_ticket(url) == new + 1


def test_load_when_some_of_it_is_gone_then_adds_just_that(url: str) -> None:
    data.load(url, reset=True)
    assert query(url, "DELETE FROM tickets WHERE ticket_id < 400011 RETURNING 1") == [(1,)] * 10
    assert data.load(url)[1].endswith("10 added")


def test_load_when_a_week_has_passed_then_moves_its_tickets_and_no_others(url: str) -> None:
    now = datetime.now(UTC)
    data.load(url, reset=True, now=now - timedelta(days=3))
    send_ticket(url)
    new = query(url, "SELECT created_at FROM tickets WHERE ticket_id = 500001")
    assert "360 moved forward" in data.load(url, now=now)[-1]
    ages = "SELECT count(*) FROM tickets WHERE created_at > now() - interval '7 days' AND ticket_id < 500001"
    assert query(url, ages) == [(360,)]
    assert query(url, "SELECT created_at FROM tickets WHERE ticket_id = 500001") == new


def test_main_when_the_database_cannot_be_used_then_says_so_in_one_line(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["data"])
    for address, status, problem in [
        ("", 2, "set DATABASE_URL"),
        ("postgresql://127.0.0.1:1/none", 1, "connection"),
        (make_conninfo(postgres.url, dbname="template1"), 1, "run `python -m migrations` first"),
    ]:
        monkeypatch.setenv("DATABASE_URL", address)
        assert data.main() == status
        said = capsys.readouterr().err
        assert problem in said
        assert said.count("\n") == 1
