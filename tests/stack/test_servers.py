"""Postgres and Azurite of our own: what survives which end, and what is said when they cannot start."""

import socket
from pathlib import Path

import psycopg
import pytest
from azure.storage.queue import QueueServiceClient

from simulator.stack.azurite import Azurite, AzuritePorts
from simulator.stack.database import require_vector
from simulator.stack.errors import StackError
from simulator.stack.ports import LOOPBACK, NOBODYS, free_ports
from simulator.stack.postgres import Postgres, erase_cluster, throw_away_postgres


def numbers_in(postgres: Postgres) -> list[int]:
    with psycopg.connect(postgres.url) as connection:
        return [row[0] for row in connection.execute("SELECT n FROM numbers ORDER BY n")]


def test_postgres_keeps_what_was_committed_over_kill_restart_and_a_new_object(tmp_path: Path) -> None:
    with Postgres(tmp_path / "cluster") as postgres:
        try:
            with psycopg.connect(postgres.url) as connection:
                connection.execute("CREATE TABLE numbers (n int); ")
                connection.execute("INSERT INTO numbers VALUES (1)")
            postgres.kill()
            assert not postgres.answers()
            postgres.start()
            assert numbers_in(postgres) == [1]
            postgres.restart()
            assert numbers_in(postgres) == [1]
            postgres.stop()
            with Postgres(tmp_path / "cluster") as again:
                assert numbers_in(again) == [1]
        finally:
            postgres.stop()
            erase_cluster(tmp_path / "cluster")
    assert not postgres.data.exists()


def test_postgres_offers_vectors_and_takes_settings() -> None:
    with throw_away_postgres({"max_connections": "17"}) as postgres:
        require_vector(postgres.url)
        with psycopg.connect(postgres.url) as connection:
            connection.execute("CREATE EXTENSION vector")
            assert connection.execute("SHOW max_connections").fetchone() == ("17",)
    assert not postgres.data.exists()


def test_postgres_when_its_port_is_taken_then_says_which_setting_moves_it(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]
        postgres = Postgres(tmp_path / "cluster", port)
        with pytest.raises(StackError, match=f"port {port} .*POSTGRES_PORT"):
            postgres.start()
    erase_cluster(tmp_path / "cluster")


def test_postgres_when_a_parameter_is_wrong_then_says_why_and_leaves_nothing_running() -> None:
    with pytest.raises(StackError, match="no_such_parameter"), throw_away_postgres({"no_such_parameter": "1"}):
        pass


def test_database_when_nobody_answers_then_says_so() -> None:
    with pytest.raises(StackError, match="does not answer"):
        require_vector(f"postgresql://nobody:secret@{LOOPBACK}:{NOBODYS}/none")


def test_azurite_keeps_queues_over_a_restart_and_comes_back_after_a_kill(tmp_path: Path) -> None:
    with (
        Azurite(tmp_path / "storage") as azurite,
        QueueServiceClient.from_connection_string(azurite.connection_string) as queues,
    ):
        queues.create_queue("tickets")
        azurite.restart()
        assert [queue.name for queue in queues.list_queues()] == ["tickets"]
        azurite.kill()
        azurite.start()
        assert [queue.name for queue in queues.list_queues()] == ["tickets"]


def test_azurite_when_a_port_is_taken_then_says_which_setting_moves_it(tmp_path: Path) -> None:
    blob, table = free_ports(2)
    with socket.create_server((LOOPBACK, 0)) as other:
        ports = AzuritePorts(blob, other.getsockname()[1], table)
        with pytest.raises(StackError, match="AZURITE_QUEUE_PORT"):
            Azurite(tmp_path / "storage", ports).start()
