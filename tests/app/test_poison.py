"""The poison queue and the rows in step, whatever happened to either: one readable message a dead letter."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.api.asked import Discard, Redrive
from shared.errors import QueueUnavailable
from shared.queues.poison import Poison
from shared.queues.storage import Held, Queues
from shared.settings import Settings
from shared.wiring import App, build
from shared.worker import Worker
from tests.db.arrows import reach
from tests.stage import Mailroom, job_row, until

MANY = 40  # more than a look at a queue shows
HIDE_S = 1


def encoded(message: object, *, layers: int = 1) -> str:
    text = json.dumps(message)
    for _ in range(layers):
        text = base64.b64encode(text.encode()).decode()
    return text


async def later(app: App) -> None:
    """Let enough time pass for a put to count as settled, and for hidden messages to be seen again."""
    await app.db.execute("UPDATE jobs SET poison_put_at = poison_put_at - interval '1 minute'")

    async def may_begin() -> bool:
        return await app.db.fetch_dicts("SELECT FROM poison_passes WHERE held_until > clock_timestamp()") == []

    await until(may_begin, "another pass may begin")


async def counts_as_done(app: App) -> None:
    """As if a full pass had just been made."""
    await app.db.execute(
        "INSERT INTO poison_passes (queue, done_at) VALUES ('tickets', now())"
        " ON CONFLICT (queue) DO UPDATE SET done_at = now(), is_wanted = false, held_until = '-infinity'"
    )


class Bench:
    """The app's poison queue, with passes that hide a message for a second only."""

    def __init__(self, app: App, mailroom: Mailroom) -> None:
        self.app = app
        self.poison = replace(app.sweep.poison, hide_s=HIDE_S)
        self.mailroom = mailroom
        self.name = f"{mailroom.tickets}-poison"
        self.queue = mailroom.queue(self.name)

    async def dead_letters(self, how_many: int) -> list[int]:
        """So many dead letters with their messages, put a while ago."""
        jobs = [(await reach(self.app.db, "dead_letter"))["job_id"] for _ in range(how_many)]
        await self.app.relay.run_pass(stay_s=0)
        await later(self.app)
        return jobs

    async def sweep(self) -> None:
        """A pass, and the puts it orders."""
        await self.poison.run_pass("tickets")
        await self.app.relay.run_pass(stay_s=0)

    async def texts(self) -> list[str]:
        """Every message as it is stored; they are hidden for a second after that."""

        seen: dict[str, str] = {}

        async def all_seen() -> bool:
            async for message in self.queue.receive_messages(messages_per_page=32, visibility_timeout=1):
                seen[str(message.id)] = str(message.content)
            return len(seen) == (await self.queue.get_queue_properties()).approximate_message_count

        await until(all_seen, "every message is seen")
        return list(seen.values())

    async def is_in_step(self, *, strays: int = 0) -> bool:
        """One readable message with the right number a dead letter, and so many others."""
        rows = await self.app.db.fetch_dicts("SELECT job_id, delivery FROM jobs WHERE state = 'dead_letter'")
        found, others = [], 0
        for text in await self.texts():
            try:
                message = json.loads(base64.b64decode(text))
                found.append((message["job_id"], message["delivery"]))
            except (ValueError, TypeError, KeyError):
                others += 1
        return (sorted(found), others) == (sorted((row["job_id"], row["delivery"]) for row in rows), strays)

    async def take_out(self, *jobs: int) -> list[dict[str, Any]]:
        """Take dead letters' messages off the queue by hand; what they said, once the others can be seen again."""
        taken: dict[int, dict[str, Any]] = {}
        hidden_until = datetime.now(UTC)
        async for message in self.queue.receive_messages(messages_per_page=32, visibility_timeout=1):
            said: dict[str, Any] = json.loads(base64.b64decode(message.content))
            if said["job_id"] in jobs:
                await self.queue.delete_message(message)
                taken[said["job_id"]] = said
            hidden_until = (message.next_visible_on or hidden_until) + timedelta(seconds=1)  # it has no fractions

        async def are_seen_again() -> bool:
            return datetime.now(UTC) > hidden_until

        await until(are_seen_again, "the messages can be seen again")
        return [taken[job_id] for job_id in jobs]


@pytest.fixture
def bench(app: App, mailroom: Mailroom) -> Bench:
    return Bench(app, mailroom)


@pytest.fixture
async def other_process(settings: Settings) -> AsyncIterator[App]:
    """The app as another process of the same installation has it."""
    built = await build(settings)
    yield built
    await built.close()


async def test_queue_when_everything_happened_to_it_at_once_then_in_step_after_two_passes(
    bench: Bench, worker: Worker
) -> None:
    jobs = await bench.dead_letters(MANY)
    deleted, copied, moved_back, moved_plain, moved_twice = jobs[:5]
    letters = dict(zip(jobs[:5], await bench.take_out(*jobs[:5]), strict=True))
    living = (await reach(bench.app.db, "queued"))["job_id"]
    for text in (
        encoded(letters[copied]),
        encoded(letters[copied]),  # a copy by hand
        encoded({"job_id": jobs[5], "delivery": letters[copied]["delivery"]}),  # and one far behind its original
        encoded({"job_id": living, "delivery": 1}),  # as the host makes it after five failures
        json.dumps(letters[moved_plain]),  # put on the work queue without a tick, which the host cannot read
        encoded("a stray"),
        "another one",
    ):
        await bench.queue.send_message(text)
    # The others the host can read, and hands over with one layer taken off.
    await worker.work(json.dumps(letters[moved_back]))
    await worker.work(encoded(letters[moved_twice]))

    await bench.sweep()
    await later(bench.app)
    await bench.sweep()

    states = {job_id: (await job_row(bench.app.db, job_id))["state"] for job_id in [*jobs, living]}
    assert states == dict.fromkeys(jobs, "dead_letter") | dict.fromkeys(
        [moved_back, moved_plain, moved_twice, living], "queued"
    )
    assert await bench.is_in_step(strays=2)
    assert states[deleted] == "dead_letter"


async def test_queue_when_in_step_then_a_pass_leaves_it_alone(bench: Bench) -> None:
    await bench.dead_letters(3)
    await bench.queue.send_message("a stray")
    await bench.sweep()
    await later(bench.app)

    await bench.sweep()

    assert len(await bench.queue.peek_messages(max_messages=32)) == 4
    assert await bench.is_in_step(strays=1)


async def test_message_when_deleted_and_a_stray_takes_its_place_then_found_by_the_pass_of_every_ten_minutes(
    bench: Bench,
) -> None:
    jobs = await bench.dead_letters(2)
    await counts_as_done(bench.app)
    await bench.take_out(jobs[0])
    await bench.queue.send_message("a stray")
    await bench.sweep()
    assert await bench.app.db.fetch_dicts("SELECT FROM outbox") == [], "the count is as it should be"
    await bench.app.db.execute("UPDATE poison_passes SET done_at = now() - interval '11 minutes'")
    await bench.sweep()

    assert await bench.is_in_step(strays=1)


@pytest.mark.parametrize("way", ["retry", "retry_many", "discard"])
async def test_message_when_its_job_leaves_and_another_is_deleted_then_it_goes_though_the_count_is_right(
    bench: Bench, way: str
) -> None:
    gone, deleted = await bench.dead_letters(2)
    await bench.take_out(deleted)
    await counts_as_done(bench.app)
    decide = bench.app.decisions
    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "retry": lambda: decide.retry(gone),
        "retry_many": lambda: decide.retry_many(Redrive(limit=1)),
        "discard": lambda: decide.discard(gone, Discard(discarded_by="mei")),
    }
    await ways[way]()
    await bench.sweep()

    assert await bench.is_in_step()


async def test_dead_letters_when_retried_in_bulk_then_their_messages_go_and_the_others_stay(bench: Bench) -> None:
    await bench.dead_letters(12)
    await counts_as_done(bench.app)
    redriven = await bench.app.decisions.retry_many(Redrive(limit=9))
    assert (redriven.retried, redriven.remaining) == (9, 3)
    await bench.sweep()
    assert await bench.is_in_step()


async def test_passes_when_two_processes_begin_at_once_then_in_step_and_nothing_is_put_twice(
    bench: Bench, other_process: App
) -> None:
    jobs = await bench.dead_letters(12)
    await bench.take_out(jobs[7])
    other = replace(other_process.sweep.poison, hide_s=HIDE_S)

    await asyncio.gather(*(poison.run_pass("tickets") for poison in (bench.poison, other) for _ in range(3)))

    ordered = await bench.app.db.fetch_dicts("SELECT job_id FROM outbox WHERE purpose = 'poison'")
    assert ordered == [{"job_id": jobs[7]}]
    await bench.app.relay.run_pass(stay_s=0)
    assert await bench.is_in_step()


async def test_put_when_its_confirmation_was_lost_then_one_message_and_the_row_names_it(bench: Bench) -> None:
    [job_id] = await bench.dead_letters(1)
    await bench.app.db.execute("UPDATE jobs SET poison_message_id = NULL, poison_put_at = NULL")
    await bench.app.db.execute(
        "INSERT INTO outbox (queue, purpose, job_id, delivery) SELECT queue, 'poison', job_id, delivery FROM jobs"
    )
    await bench.sweep()
    await later(bench.app)
    await bench.sweep()
    await later(bench.app)
    [message] = await bench.queue.peek_messages(max_messages=32)
    assert await bench.is_in_step()
    assert (await job_row(bench.app.db, job_id))["poison_message_id"] == message.id


async def test_pass_when_cut_off_then_the_next_one_is_due_though_the_count_is_right(bench: Bench) -> None:
    class Leaving(Queues):
        def __init__(self) -> None:
            """The storage account goes away after the first page."""

        async def length(self, queue: str) -> int:
            return -1

        async def take(self, queue: str, *, hide_s: int) -> list[Held]:
            raise QueueUnavailable("gone")

    jobs = await bench.dead_letters(2)
    await counts_as_done(bench.app)
    broken = Poison(bench.app.db, Leaving(), bench.poison.names, HIDE_S)
    with pytest.raises(QueueUnavailable):
        await broken.run_pass("tickets")
    await bench.take_out(jobs[0])
    await bench.queue.send_message("a stray")
    await later(bench.app)

    await bench.sweep()

    assert await bench.is_in_step(strays=1)
