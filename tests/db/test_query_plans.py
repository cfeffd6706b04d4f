"""What the statements of every day read in a database with a past: a few rows by an index, never the past itself."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import product
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from migrations.__main__ import migrate
from shared import cleaning, tickets
from shared.api.asked import NewTicket
from shared.db import Database
from shared.errors import QueueFull
from shared.intake import Asked, Intake, Rules
from shared.jobs import claim as claims
from shared.jobs import dead_letters, leave, people, reading, rescue
from shared.jobs.dead_letters import Those
from shared.jobs.states import JobError
from shared.kinds import ticket
from shared.names import MAX_ID
from shared.provider.lane import Lane, Limits
from shared.queues import outbox
from shared.queues.messages import StoredCopy
from simulator.stack.postgres import Postgres
from tests.stage import until

PAST, WAITING, DUE, ON_THE_WAY, AT_WORK = 50_000, 5_000, 300, 100, 20
ALIVE = WAITING + AT_WORK + 100
A_FEW = 200  # rows; a batch, a page, what is on its way

# Rows as years of use leave them, without asking every foreign key for each.
SEED = """
SET session_replication_role = replica;
INSERT INTO customers (customer_id, name, workspace_id)
SELECT 'C-' || (1000 + n), 'x', 'w' || n % 50 FROM generate_series(0, 999) AS n;
INSERT INTO tickets (ticket_id, customer_id, workspace_id, subject, body, channel, team)
SELECT n, 'C-' || (1000 + n % 1000), 'w' || n % 50, 'subject', 'body', 'email',
       (ARRAY['billing', 'login', 'shipping', 'account', 'other'])[1 + n % 5]
FROM generate_series(1, :past + :waiting) AS n;
INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s, state, attempts, run, delivery,
                  result, last_error, created_at, run_after, started_at, finished_at, poison_put_at, poison_message_id)
SELECT 'ticket', 'tickets', n, 'w' || n % 50, 'customer:C-1000', 5, 120, state, 1, 1, 2,
       CASE state WHEN 'succeeded' THEN '{}'::jsonb END, CASE WHEN state <> 'succeeded' THEN '{"code": "x"}'::jsonb END,
       at, at, at, at, CASE state WHEN 'dead_letter' THEN at END, CASE state WHEN 'dead_letter' THEN 'm' || n END
FROM (SELECT n, now() - (:past - n + 2) * interval '1 minute' AS at,
             CASE WHEN n % 2500 = 0 THEN 'dead_letter' WHEN n % 300 = 0 THEN 'failed' ELSE 'succeeded' END AS state
      FROM generate_series(1, :past) AS n) AS ended;
INSERT INTO jobs (kind, queue, ticket_id, workspace_id, actor, max_attempts, deadline_s, endpoint, chat_calls_left,
                  run_after, announced_at)
SELECT 'ticket', 'tickets', :past + n, 'w' || n % 50, 'customer:C-1000', 5, 120, 'chat', 2,
       now() + (n - :due) * interval '1 second', CASE WHEN n <= :on_the_way THEN now() - interval '20 seconds' END
FROM generate_series(1, :waiting) AS n;
INSERT INTO outbox (queue, purpose, job_id, delivery, endpoint, due_at)
SELECT queue, 'work', job_id, delivery, endpoint, run_after FROM jobs WHERE state = 'queued' AND announced_at IS NULL;
UPDATE jobs SET state = 'running', claim_id = gen_random_uuid(), run_started_at = now(), announced_at = NULL, run = 1,
    locked_until = now() + interval '1 hour', attempts = 1
WHERE job_id <= :past + :at_work AND state = 'queued';
INSERT INTO job_runs (job_id, run, attempt, started_at, ended_at, outcome, queue, announced_at)
SELECT job_id, 1, 1, created_at, created_at, 'retry', queue, created_at FROM jobs WHERE finished_at IS NOT NULL;
INSERT INTO job_steps (job_id, name, position, state, finished_at)
SELECT job_id, 'classify', 0, 'succeeded', now() FROM jobs WHERE job_id <= 20000;
INSERT INTO idempotency_keys (route, actor, key, fingerprint, answer, expires_at)
SELECT 'POST /v1/tickets', 'customer:C-1000', 'key-' || n, '', '{}', now() + n * interval '1 second'
FROM generate_series(1, 20000) AS n;
"""

EXPLAIN = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
}


@dataclass(frozen=True)
class Past:
    """The database with a past, and the file in which its server explains what it did."""

    db: Database
    server: Postgres

    async def most_read(self, action: Callable[[], Awaitable[object]]) -> tuple[int, str]:
        """The most rows that one part of one statement has read, and which part it was."""
        return max(await self.read(action), default=(0, ""))

    async def read(self, action: Callable[[], Awaitable[object]]) -> list[tuple[int, str]]:
        """The rows that each part of each statement has read, and which part it was."""
        log = self.server.process.program.log
        before = log.stat().st_size
        mark = uuid4().hex
        await action()
        await self.db.fetch_dicts("SELECT %(mark)s::text AS mark", {"mark": mark})

        async def written() -> str:
            text = log.read_bytes()[before:].decode(errors="replace")
            return text if mark in text and text.endswith("\n") else ""

        text = await until(written, "the server has explained itself")
        plans = [json.loads(found[1])["Plan"] for found in re.finditer(r"plan:\n((?:\t.*\n)+)", text)]
        return [part for plan in plans for part in parts(plan)]


def parts(plan: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Each scan of a plan: rows read, those thrown away too, and its name."""
    if plan["Node Type"].endswith("Scan") and ("Relation Name" in plan or "Index Name" in plan):
        rows = (
            plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
        )
        where = plan.get("Index Name") or plan.get("Relation Name")
        yield round(rows * plan["Actual Loops"]), f"{plan['Node Type']} {where}"
    for child in plan.get("Plans", ()):
        yield from parts(child)


@pytest.fixture(scope="module")
def old_database(postgres: Postgres) -> Iterator[str]:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE past")
        url = postgres.url.rsplit("/", 1)[0] + "/past"
        migrate(url, say=False)
        sizes = {"past": PAST, "waiting": WAITING, "due": DUE, "on_the_way": ON_THE_WAY, "at_work": AT_WORK}
        with psycopg.connect(url, autocommit=True) as past:
            past.execute(re.sub(r":(past|waiting|due|on_the_way|at_work)\b", lambda name: str(sizes[name[1]]), SEED))
            past.execute("VACUUM ANALYZE")
        yield url
        connection.execute("DROP DATABASE past WITH (FORCE)")


@pytest.fixture
async def past(postgres: Postgres, old_database: str) -> AsyncIterator[Past]:
    options = " ".join(f"-c {name}={value}" for name, value in EXPLAIN.items())
    db = Database(f"{old_database}?options={quote(options)}", pool_size=2)
    await db.open()
    yield Past(db, postgres)
    await db.close()


def lane_of(db: Database) -> Lane:
    return Lane(db, Limits.per_minute(calls=6000, burst=None, tokens=0), 3600)


async def test_intake_then_it_counts_no_further_than_it_must(past: Past) -> None:
    def intake(queue_max: int) -> Intake:
        return Intake(past.db, ticket.KIND, {}, Rules(5, queue_max, 1000, 3600, False, lane_of(past.db).limits))

    new = NewTicket(customer_id="C-1000", subject="x")

    async def refused() -> None:
        with pytest.raises(QueueFull):
            await intake(500).accept_ticket(new, Asked("r"), key=None)

    assert await past.most_read(refused) <= (501, "~")
    for key in (None, "a-new-key", "a-new-key"):
        accept = partial(intake(0).accept_ticket, new, Asked("r"), key=key)
        assert await past.most_read(accept) <= (1000, "~")


@pytest.mark.parametrize("is_half_open", [False, True])
async def test_relay_then_it_reads_what_is_due_and_on_its_way(past: Past, is_half_open: bool) -> None:
    lane = lane_of(past.db)
    await past.db.execute(
        "UPDATE provider_breakers SET is_open = %(is_open)s, reason = 'x', retry_at = now()", {"is_open": is_half_open}
    )
    looks: list[Callable[[], Awaitable[object]]] = [
        lambda: outbox.take_work(past.db, "tickets", lane, share_limit=2, limit=16),
        lambda: outbox.take_poison(past.db, "tickets", limit=16),
        lambda: lane.take(10, yields=True),
        lambda: outbox.is_held(past.db, "tickets"),
        lambda: outbox.next_due_s(past.db, "tickets", "work", within_s=1.5),
    ]
    for look in looks:
        assert await past.most_read(look) <= (DUE, "~")
    assert await past.most_read(lambda: outbox.pending(past.db, "tickets", lane, share_limit=2)) <= (ALIVE, "~")


async def test_run_then_each_of_its_statements_reads_its_own_rows(past: Past) -> None:
    row = await past.db.fetch_dict("SELECT max(job_id) AS job_id FROM jobs WHERE announced_at IS NOT NULL")
    assert row is not None
    claim = await claims.claim(past.db, row["job_id"], 1, uuid4(), lease_s=30)
    assert claim is not None
    needs = claims.Needs(33, "chat", 1)
    statements: list[Callable[[], Awaitable[object]]] = [
        lambda: claims.claim(past.db, 7, 1, uuid4(), lease_s=30),
        lambda: claims.start_step(past.db, claim, "classify", 0),
        lambda: claims.save_step(past.db, claim, "classify", 0, {}, needs),
        lambda: claims.extend(past.db, [(claim.job_id, claim.run)], lease_s=30),
        lambda: tickets.text(past.db, 7),
        lambda: leave.retry_later(past.db, claim, JobError("x", "y"), wait_s=60, waited_s=0),
        lambda: leave.how_it_ended(past.db, claim),
        lambda: people.cancel(past.db, 7),
        lambda: people.retry(past.db, 7),
    ]
    for statement in statements:
        assert await past.most_read(statement) <= (AT_WORK + 5, "~")


async def test_sweep_then_it_reads_what_is_alive_and_what_is_old(past: Past) -> None:
    db, now = past.db, datetime.now(UTC)
    looks: list[Callable[[], Awaitable[object]]] = [
        lambda: rescue.look_for_leases(db),
        lambda: rescue.lose(db, lease_s=30, base_s=2, cap_s=60, limit=50),
        lambda: rescue.look_for_silence(db, "tickets", patience_s=30),
        lambda: rescue.announce_again(db, "tickets", queue_is_empty=False, patience_s=30, limit=50),
        lambda: rescue.announce_again(db, "tickets", queue_is_empty=True, patience_s=10, limit=50),
        lambda: dead_letters.counts(db, "tickets", every_s=600),
        lambda: dead_letters.judge(db, {"m2500": StoredCopy(2500, 2, False), "m1": StoredCopy(1, 2, False)}),
        lambda: dead_letters.put_again(db, "tickets", began_at=now, settled_s=20, met=[2500]),
        lambda: cleaning.clean(db),
    ]
    for look in looks:
        assert await past.most_read(look) <= (A_FEW, "~")


async def test_numbers_of_the_queue_then_only_what_is_alive_is_counted(past: Past) -> None:
    assert await past.most_read(lambda: reading.numbers(past.db)) <= (ALIVE, "~")
    lane = lane_of(past.db)
    read = await past.read(lambda: reading.numbers(past.db))
    for queue in ("tickets", "reports", "webhooks"):
        read += await past.read(partial(outbox.pending, past.db, queue, lane, share_limit=2))
    wholly = {part for _, part in read if part.startswith("Seq Scan")}
    assert wholly <= {"Seq Scan provider_lane", "Seq Scan provider_breakers"}, "of one row and two"


STATES, KINDS = (None, "succeeded", "dead_letter", "waiting_for_approval"), (None, "ticket", "no_such_kind")
WORKSPACES, CODES = (None, "w3", "no-such-workspace"), (None, "x", "no_such_code")
TEAMS, CUSTOMERS = (None, "billing", "login"), (None, "C-1003")
PILES = 5  # pairs of state and kind in the seed


async def test_page_of_jobs_whatever_filters_meet_then_they_are_one_index(past: Past) -> None:
    read = {}
    for state, kind, workspace_id, error_code, before in product(STATES, KINDS, WORKSPACES, CODES, (MAX_ID, 20_000)):
        filters = {"state": state, "kind": kind, "workspace_id": workspace_id, "error_code": error_code}
        page = partial(reading.page, past.db, filters | {"before": before, "limit": 51})
        read[(*filters.values(), before)] = await past.most_read(page)
    assert {key: found for key, found in read.items() if found > (PILES * 51, "~")} == {}


async def test_job_then_its_row_alone_is_read(past: Past) -> None:
    assert await past.most_read(lambda: reading.one(past.db, 7)) <= (1, "~")


async def test_page_of_tickets_whatever_filters_meet_then_the_narrowest_is_an_index(past: Past) -> None:
    """The newest tickets are at work: those that have succeeded begin below them."""
    read = {}
    for ai_state, team, customer_id, workspace_id in product(STATES, TEAMS, CUSTOMERS, WORKSPACES):
        filters = {"ai_state": ai_state, "team": team, "customer_id": customer_id, "workspace_id": workspace_id}
        page = partial(tickets.page, past.db, filters | {"before": MAX_ID, "limit": 51})
        read[tuple(filters.values())] = await past.most_read(page)
    most = {key: ALIVE if "succeeded" in key else (PAST + WAITING) // 50 for key in read}
    assert {key: found for key, found in read.items() if found > (most[key], "~")} == {}


@pytest.mark.parametrize("only", [{}, {"workspace_id": "w0"}, {"error_code": "x"}, {"kind": "ticket"}])
async def test_dead_letters_when_counted_or_retried_in_bulk_then_no_others_are_read(
    past: Past, only: dict[str, Any]
) -> None:
    those = Those(**only)
    assert await past.most_read(lambda: dead_letters.count_many(past.db, those)) <= (A_FEW, "~")
    assert await past.most_read(lambda: dead_letters.retry_many(past.db, those, limit=2)) <= (A_FEW, "~")


async def test_heartbeats_then_no_index_is_written(old_database: str) -> None:
    beats = 20
    db = Database(old_database, pool_size=1)
    await db.open()
    [at_work] = await db.fetch_dicts("SELECT array_agg(job_id) AS jobs FROM jobs WHERE state = 'running'")

    async def updates() -> tuple[int, int]:
        await db.fetch_dicts("SELECT pg_stat_force_next_flush()")
        row = await db.fetch_dict(
            "SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'jobs'"
        )
        assert row is not None
        return row["all"], row["hot"]

    before = await updates()
    for _ in range(beats):
        await claims.extend(db, [(job_id, 1) for job_id in at_work["jobs"]], lease_s=3600)
    after = await updates()
    await db.close()

    made, hot = (now - then for now, then in zip(after, before, strict=True))
    assert made == beats * len(at_work["jobs"])
    assert hot >= 0.9 * made, "but for the first that finds its page full"
