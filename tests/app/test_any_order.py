"""Everything that can happen to jobs, in any order: clients, passes, messages early, late and twice, workers that
stall and die, people and operators. After each step no promise is broken, and left in peace it all comes to an end.

`make test` tells the same few stories every time. For others, as many as you like:
    ANY_ORDER_STORIES=500 python -m pytest tests/app/test_any_order.py -s
and for one of them again, by its number:
    ANY_ORDER_FIRST=4711 ANY_ORDER_STORIES=1 python -m pytest tests/app/test_any_order.py -s
"""

from __future__ import annotations

import os
from random import Random, randrange, seed

import psycopg
import pytest

from simulator.stack.postgres import Postgres
from tests.any_order import AnyOrder, rule
from tests.chance import Move
from tests.conftest import EMPTY
from tests.ending import come_to_an_end
from tests.story import Story

STORIES = int(os.environ.get("ANY_ORDER_STORIES", "0"))
FIRST = int(os.environ.get("ANY_ORDER_FIRST", randrange(10**6))) if STORIES else 50
FEW, STEPS = 16, 40  # those from 50 on come past more than most


async def tell(database_url: str, number: int) -> None:
    """One story; an error says what had happened."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(EMPTY)
    chance, moves = Random(number), list[Move[AnyOrder]]()
    seed(number)  # the app draws its back-offs
    story = await Story.begin(database_url, max_attempts=chance.choice((1, 2, 3)))
    try:
        teller = AnyOrder(story)
        await teller.ticket("Charged twice")
        await story.check()
        for _ in range(STEPS):
            moves.append(rule.draw(chance, teller))
            await moves[-1].make(teller)
            await story.check()
        await come_to_an_end(story)
    except Exception as exc:
        exc.add_note("\n    ".join([f"Story {number}:", *map(str, moves)]))
        raise
    finally:
        await story.close()


@pytest.mark.timeout(60 * (STORIES or FEW))
async def test_jobs_when_all_happens_in_any_order_then_every_promise_is_kept_and_each_comes_to_its_end(
    postgres: Postgres,
) -> None:
    print(f"{STORIES or FEW} stories from {FIRST}; for more: ANY_ORDER_STORIES=500 (see the top of {__file__})")
    for number in range(FIRST, FIRST + (STORIES or FEW)):
        await tell(postgres.url, number)
