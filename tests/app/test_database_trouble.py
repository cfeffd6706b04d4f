"""A Postgres that is killed, cuts connections or has none left: nothing is half saved, and all is well soon after."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from shared.db import Connection
from shared.wiring import App
from simulator.stack.postgres import Postgres, throw_away_postgres
from tests.conftest import EMPTY
from tests.front import Answer, Front
from tests.stage import make_schema, saved, transaction, until
from tests.tcp_wire import Wire

GOOD = {"customer_id": "C-0022", "subject": "Charged twice"}
LIMIT_S = 3.0 + 1.5  # what is promised, and what a busy machine may add
BACK_S = 10.0
PLACES = 12


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server of this module's own, that may be killed, has few places, and keeps what it has confirmed."""
    limits = {"max_connections": str(PLACES), "superuser_reserved_connections": "0", "synchronous_commit": "on"}
    with throw_away_postgres(limits) as running:
        make_schema(running.url)
        yield running


@pytest.fixture
def database_url(server: Postgres) -> str:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(EMPTY)
    return server.url


@pytest.fixture
async def wire(server: Postgres) -> AsyncIterator[Wire]:
    """What lies between the app and this module's server in a test that asks for it."""
    async with Wire(server.port) as made:
        yield made


@pytest.fixture
async def stranger(database_url: str, app: App) -> AsyncIterator[psycopg.AsyncConnection]:
    """A session of somebody else."""
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        yield connection


async def send(front: Front, key: str) -> Answer:
    return await front.post("/v1/tickets", GOOD, {"Idempotency-Key": key})


async def is_well(front: Front) -> bool:
    return (await front.get("/v1/queue")).status == 200


async def test_server_when_restarted_between_two_calls_then_the_next_ones_are_answered(
    server: Postgres, front: Front
) -> None:
    assert await is_well(front)
    await asyncio.to_thread(server.restart)
    answers = await asyncio.gather(*(front.get("/v1/queue") for _ in range(8)))
    assert {answer.status for answer in answers} <= {200, 503}
    await until(lambda: is_well(front), "the app finds Postgres again", within_s=BACK_S)


async def test_server_when_killed_under_traffic_then_each_key_has_one_ticket_when_all_is_over(
    server: Postgres, app: App, front: Front
) -> None:
    keys = [f"traffic-{number}" for number in range(30)]
    seen: Counter[int] = Counter()

    async def insist(key: str) -> int:
        while True:
            answer = await send(front, key)
            seen[answer.status] += 1
            if answer.status == 202:
                job_id: int = answer.json()["job_id"]
                return job_id
            assert answer.error["code"] == "database_unavailable", answer
            await asyncio.sleep(0.1)

    requests = [asyncio.create_task(insist(key)) for key in keys[:15]]
    await asyncio.wait(requests, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.to_thread(server.kill)
    requests += [asyncio.create_task(insist(key)) for key in keys[15:]]
    await until(lambda: asyncio.sleep(0, seen[503] > 0), "somebody meets the outage")
    await asyncio.to_thread(server.start)
    began = time.monotonic()

    jobs = await asyncio.gather(*requests)

    assert time.monotonic() - began < BACK_S
    assert len(set(jobs)) == len(keys)
    assert [(await saved(app.db))[table] for table in ("tickets", "jobs")] == [len(keys)] * 2
    replays = [(await send(front, key)).json()["job_id"] for key in keys]
    assert replays == jobs


@pytest.mark.settings(RATE_LIMIT_PER_MINUTE="9")
async def test_connection_when_cut_in_the_middle_of_a_ticket_then_503_and_nothing_of_it_is_saved(
    app: App, front: Front, database_url: str, stranger: psycopg.AsyncConnection
) -> None:
    assert (await front.post("/v1/tickets", GOOD)).status == 202
    async with transaction(database_url) as other:
        await other.execute("UPDATE rate_windows SET customer_id = customer_id")
        request = asyncio.create_task(send(front, "cut-short"))

        async def is_cut() -> bool:
            cut = await stranger.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE wait_event_type = 'Lock' AND query LIKE '%rate_windows%'"
            )
            return cut.rowcount > 0

        await until(is_cut, "the ticket waits, and its connection is cut")
        answer = await request
    assert (answer.status, answer.error["code"]) == (503, "database_unavailable")
    assert (await saved(app.db))["tickets"] == 1
    again = await send(front, "cut-short")
    assert (again.status, "idempotent-replayed" in again.headers) == (202, False)


@pytest.mark.settings(RATE_LIMIT_PER_MINUTE="9")
async def test_row_when_somebody_holds_it_for_long_then_503_in_time_and_one_ticket_a_key_in_the_end(
    app: App, front: Front, database_url: str
) -> None:
    assert (await front.post("/v1/tickets", GOOD)).status == 202
    async with transaction(database_url) as other:
        await other.execute("UPDATE rate_windows SET customer_id = customer_id")
        began = time.monotonic()
        answer = await send(front, "long-held")
        assert time.monotonic() - began < LIMIT_S
        assert (answer.status, answer.error["code"]) == (503, "database_unavailable")
        await other.rollback()

    async def is_accepted() -> bool:
        return (await send(front, "long-held")).status == 202

    await until(is_accepted, "tickets are accepted again", within_s=BACK_S)
    assert (await saved(app.db))["tickets"] == 2


@pytest.mark.settings(DATABASE_POOL_SIZE="1")
async def test_pool_when_its_one_connection_is_taken_then_503_in_time_and_well_after_it(app: App, front: Front) -> None:
    may_end = asyncio.Event()
    has_it = asyncio.Event()

    async def hold(_: Connection) -> None:
        has_it.set()
        await may_end.wait()

    holding = asyncio.create_task(app.db.run(hold))
    await has_it.wait()
    began = time.monotonic()
    answers = await asyncio.gather(*(send(front, f"no-place-{number}") for number in range(10)))
    assert time.monotonic() - began < LIMIT_S
    assert {(answer.status, answer.error["code"]) for answer in answers} == {(503, "database_unavailable")}
    may_end.set()
    await holding
    assert (await send(front, "no-place-0")).status == 202
    assert (await saved(app.db))["tickets"] == 1


async def test_server_when_it_has_no_place_left_then_503_in_time_and_well_after_it(
    server: Postgres, app: App, front: Front, stranger: psycopg.AsyncConnection
) -> None:
    await stranger.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'larkfield'"
    )
    crowd: list[psycopg.AsyncConnection] = []

    async def is_full() -> bool:
        try:
            crowd.append(await psycopg.AsyncConnection.connect(server.url))
        except psycopg.OperationalError as exc:
            return "too many clients" in str(exc)
        return False

    await until(is_full, "the server is full")
    await stranger.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'larkfield'"
    )
    while len(crowd) < PLACES - 1:
        await is_full()
    began = time.monotonic()
    answer = await front.post("/v1/tickets", GOOD)
    assert time.monotonic() - began < LIMIT_S
    assert (answer.status, answer.error["code"]) == (503, "database_unavailable")
    for connection in crowd:
        await connection.close()
    await until(lambda: is_well(front), "the app finds a place", within_s=BACK_S)


async def test_sweep_when_postgres_is_away_then_it_ends_in_peace_and_goes_on_later(
    app: App, front: Front, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await front.post("/v1/tickets", GOOD)).status == 202
    await app.kick.settled()
    wire.cut()
    await app.sweep.run_pass()
    assert "the database is away" in caplog.text
    assert not [record for record in caplog.records if record.exc_info and record.name.startswith("larkfield")]
    wire.mend()
    await until(lambda: is_well(front), "the app finds Postgres again", within_s=BACK_S)
    await app.sweep.run_pass()
