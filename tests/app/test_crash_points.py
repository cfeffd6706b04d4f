"""Every crash point on the way of one ticket, tried once: the process dies before and after every commit and every
put, another one starts on the same database and queues, and the ticket's way ends as if nothing had been."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import get_args

import psycopg
import pytest

from shared.api.asked import NewTicket
from shared.db import Database
from shared.errors import Unavailable
from shared.intake import Asked
from shared.kinds.kind import Desk, Kind
from shared.queues.messages import StoredCopy
from shared.wiring import App
from tests.conftest import EMPTY
from tests.crash import Crash, CrashingDatabase, CrashingQueues, Side, Switch
from tests.kinds import kind_of
from tests.postbox import Postbox
from tests.promises import broken
from tests.seams import LEASES_RUN_OUT, TIME_PASSES, build_offline, rewired
from tests.seen import Seen, look
from tests.stage import runs_of

TICKET = NewTicket.model_validate({"customer_id": "C-0022", "subject": "Charged twice"})
NAMES = {"tickets": "tickets"}
POISON = "tickets-poison"


@dataclass
class World:
    """What outlives a process: the database, seen past the switch, the queues, and the provider."""

    app: App
    is_provider_down: bool = False
    post: Postbox = field(default_factory=Postbox)
    calls: Counter[str] = field(default_factory=Counter)
    seen: Seen = field(default_factory=Seen)
    called_back: frozenset[int] = frozenset()

    @property
    def db(self) -> Database:
        return self.app.db

    def kinds(self) -> dict[str, Kind]:
        async def first(desk: Desk) -> str:
            self.calls["step_1"] += 1
            return f"call {self.calls['step_1']}"

        async def second(desk: Desk) -> str:
            self.calls["step_2"] += 1
            if self.is_provider_down:
                raise Unavailable("The provider answered 503.")
            return f"call {self.calls['step_2']}"

        return kind_of(first, second)

    async def state(self, job_id: int) -> str:
        """The job's state; what was promised before still holds."""
        now = await look(self.db)
        assert broken(self.seen, now, called_back=self.called_back) == []
        self.seen, self.called_back = now, frozenset()
        return str(now.jobs[job_id]["state"])

    def poison(self) -> list[tuple[int, int]]:
        """The messages on the poison queue as (job_id, delivery)."""
        copies = [StoredCopy.read(message.text) for message in self.post.all(POISON)]
        return [(copy.job_id, copy.delivery) for copy in copies if copy is not None]


@pytest.fixture
async def offline(database_url: str) -> AsyncIterator[App]:
    """What the processes are made of."""
    app = await build_offline(database_url, {}, JOB_MAX_ATTEMPTS="2")
    yield app
    await app.close()


Way = Callable[[App, World], Awaitable[int]]


async def make_a_round(app: App, world: World, *, with_sweep: bool) -> None:
    """Hours pass; then every pass and every message once. A message is off its queue when its function is through."""
    await world.db.execute(TIME_PASSES)
    world.post.show_all()
    if with_sweep:
        await app.sweep.run_pass()
    await app.relay.run_pass(stay_s=0)
    for message in world.post.visible("tickets"):
        await app.worker.work(message.body)
        world.post.remove("tickets", message)


async def rounds_until(app: App, world: World, job_id: int, state: str) -> None:
    """Rounds until the job is there, and the poison queue and the outbox are in step."""
    for at in range(12):
        if await world.state(job_id) == state and not world.seen.outbox:
            letter = [(job_id, world.seen.jobs[job_id]["delivery"])]
            if world.poison() == (letter if state == "dead_letter" else []):
                return
        await make_a_round(app, world, with_sweep=at > 2)
    raise AssertionError(f"wanted {state}, not {world.seen.jobs[job_id]}; poison holds {world.poison()}")


async def send_ticket(app: App) -> int:
    """As a client does that asks again under its key when it got no answer."""
    accepted, _ = await app.intake.accept_ticket(TICKET, Asked("r1"), key="only-once")
    return accepted.job_id


async def succeed(app: App, world: World) -> int:
    """A ticket's plain way."""
    job_id = await send_ticket(app)
    await rounds_until(app, world, job_id, "succeeded")
    return job_id


async def die_and_come_back(app: App, world: World) -> int:
    """A ticket that becomes a dead letter, and is retried by a person when the provider is back."""
    job_id = await send_ticket(app)
    if world.is_provider_down:
        await rounds_until(app, world, job_id, "dead_letter")
        world.is_provider_down = False
    if await world.state(job_id) == "dead_letter":
        world.called_back = frozenset({job_id})
        await app.decisions.retry(job_id)
    await rounds_until(app, world, job_id, "succeeded")
    return job_id


async def go(way: Way, world: World, switch: Switch) -> int | None:
    """One process goes the way, from the start or from where the last one died; None when it dies too."""
    db, queues = CrashingDatabase(world.db, switch), CrashingQueues(world.post, switch)
    process = rewired(world.app, db, queues, NAMES)
    try:
        return await way(replace(process, worker=replace(process.worker, kinds=world.kinds())), world)
    except Crash:
        return None


async def ended_well(world: World, job_id: int) -> bool:
    """One result, made of what each step saved; nothing left to do."""
    assert await world.state(job_id) == "succeeded"
    return len(world.seen.jobs) == 1 and set(world.seen.jobs[job_id]["result"]) == {"step_1", "step_2"}


@pytest.mark.timeout(240)  # each point is crashed at, before and after
@pytest.mark.parametrize(
    ("way", "is_provider_down", "points"),
    [
        (succeed, False, {"idempotency.run", "outbox.take_work", "put on tickets", "outbox.sent", "claim.claim"}),
        (
            die_and_come_back,
            True,
            {"leave.retry_later", "leave.dead_letter", "put on tickets-poison", "outbox.poison_sent", "people.retry"},
        ),
    ],
    ids=["success", "dead_letter"],
)
async def test_ticket_when_its_process_dies_at_any_point_then_goes_its_way_and_no_step_is_paid_for_twice_more(
    database_url: str, offline: App, way: Way, is_provider_down: bool, points: set[str]
) -> None:
    unharmed, never = World(offline, is_provider_down), Switch()
    job_id = await go(way, unharmed, never)
    assert job_id is not None and await ended_well(unharmed, job_id)
    assert points | {"claim.start_step", "claim.save_step", "leave.succeed"} <= set(never.passed)
    runs = len(await runs_of(offline.db, job_id))

    for point in (point for point in never.points if point[1] == 0):
        for side in get_args(Side):
            where = f"dead {side} {point}"
            with psycopg.connect(database_url, autocommit=True) as connection:
                connection.execute(EMPTY)
            world, switch = World(offline, is_provider_down), Switch(point, side)
            assert await go(way, world, switch) is None, where
            assert switch.has_sprung, where
            await offline.db.execute(LEASES_RUN_OUT)

            job_id = await go(way, world, Switch())

            assert job_id is not None and await ended_well(world, job_id), where
            assert world.poison() == [], where
            extra = {step: world.calls[step] - unharmed.calls[step] for step in world.calls}
            assert max(extra.values()) <= 1, where
            assert len(await runs_of(offline.db, job_id)) <= runs + 1, where
