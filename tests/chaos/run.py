"""One run: chaos for some minutes, calm, audit."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.chaos.auditor import audit
from tests.chaos.calm import Calm
from tests.chaos.customers import Customers, open_clients
from tests.chaos.evidence import read_snapshot
from tests.chaos.ledger import Ledger
from tests.chaos.operators import Operators, open_storage
from tests.chaos.receiver import Receiver
from tests.chaos.report import Report
from tests.chaos.stage import HOSTS, POISON_QUEUES, QUEUES, Stage
from tests.chaos.strangers import Strangers
from tests.chaos.trouble import Trouble
from tests.chaos.weather import FINE, make_script

HOSTS_BACK_S = 90.0
REPLAYS = 30


@dataclass(frozen=True)
class Plan:
    """How much of everything; times in seconds. Gaps are averages; `longest_s`: of what is away or stands still.
    `is_watched`: whether people look at unfinished jobs in the calm, None = the seed decides."""

    seed: int
    chaos_s: float
    gap_s: float = 5.0
    longest_s: float = 15.0
    tickets_per_s: float = 1.5
    operators_gap_s: float = 4.0
    strangers_gap_s: float = 1.0
    ends_within_s: float = 300.0
    mirror_within_s: float = 120.0
    is_watched: bool | None = None


async def play(plan: Plan, folder: Path, say: Callable[[str], None]) -> Report:
    """Let it happen in `folder`, which keeps the logs; the same seed brings the same script."""
    began = time.monotonic()
    rng = Random(plan.seed)
    ledger = Ledger()
    script = make_script(rng, seconds=plan.chaos_s, gap_s=plan.gap_s, longest_s=plan.longest_s, hosts=HOSTS)
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(Stage(folder, say))
        clients = open_clients([host.url for host in stage.hosts])
        for client in clients:
            await stack.enter_async_context(client)
        storage = await stack.enter_async_context(open_storage(stage.azurite.connection_string))
        say(f"up in {time.monotonic() - began:.1f} s")

        trouble = Trouble(stage, ledger, say)
        receiver = await stack.enter_async_context(Receiver(ledger, Random(rng.random())))
        customers = Customers(clients, ledger, Random(rng.random()), receiver.url)
        operators = Operators(clients, storage, ledger, Random(rng.random()))
        strangers = Strangers(storage, ledger, Random(rng.random()))
        async with asyncio.TaskGroup() as group:
            group.create_task(trouble.play(script))
            group.create_task(customers.come(per_second=plan.tickets_per_s, for_s=plan.chaos_s))
            # They go home early: some dead letters have to be there at the end.
            group.create_task(operators.work(gap_s=plan.operators_gap_s, for_s=0.75 * plan.chaos_s))
            group.create_task(strangers.meddle(gap_s=plan.strangers_gap_s, for_s=plan.chaos_s))

        await stage.set_provider(dict(FINE))
        await stage.hosts_answer(within_s=HOSTS_BACK_S)
        say("calm")
        await customers.ask_again(at_most=REPLAYS)
        is_watched = rng.random() < 0.5 if plan.is_watched is None else plan.is_watched
        calm = Calm(stage.postgres.url, storage, clients, rng, is_watched)
        calmed = await calm.settle(ends_within_s=plan.ends_within_s, mirror_within_s=plan.mirror_within_s)
        await stage.stop_hosts()
        snapshot = await asyncio.to_thread(
            read_snapshot,
            *(stage.postgres.url, stage.azurite.connection_string, stage.provider.url, QUEUES + POISON_QUEUES),
            *(ledger, calmed),
        )
    meddling = Counter({f"operators' {name}": times for name, times in operators.done.items()})
    meddling.update({f"strangers' {name}": times for name, times in strangers.done.items()})
    return Report(plan.seed, time.monotonic() - began, trouble.done, meddling, snapshot, audit(snapshot))
