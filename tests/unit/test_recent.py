"""One answer for many who ask: shared while it is young, also while it is on its way; never a failure again."""

from __future__ import annotations

import asyncio

import pytest

from shared.recent import Recent


class Source:
    """Counts how often it is asked; answers when `answers` is set, and as often as `failures` says not at all."""

    def __init__(self, failures: int = 0) -> None:
        self.asked = 0
        self.failures = failures
        self.answers = asyncio.Event()

    async def ask(self) -> int:
        self.asked += 1
        number = self.asked
        await self.answers.wait()
        if number <= self.failures:
            raise ConnectionError(number)
        return number


async def test_many_when_they_ask_at_once_or_within_a_moment_then_it_is_asked_once() -> None:
    source = Source()
    recent = Recent(source.ask, keep_s=3600)
    many = [asyncio.create_task(recent.get()) for _ in range(20)]
    source.answers.set()
    assert await asyncio.gather(*many) == [1] * 20
    assert await recent.get() == 1


async def test_answer_when_old_then_it_is_asked_again() -> None:
    source = Source()
    source.answers.set()
    recent = Recent(source.ask, keep_s=0)
    assert [await recent.get(), await recent.get()] == [1, 2]


async def test_failure_then_all_who_waited_are_told_and_the_next_one_tries_again() -> None:
    source = Source(failures=1)
    recent = Recent(source.ask, keep_s=3600)
    many = [asyncio.create_task(recent.get()) for _ in range(3)]
    source.answers.set()
    failed = await asyncio.gather(*many, return_exceptions=True)
    assert [type(each) for each in failed] == [ConnectionError] * 3
    assert await recent.get() == 2


async def test_asker_when_given_up_then_the_others_get_the_answer() -> None:
    source = Source()
    recent = Recent(source.ask, keep_s=3600)
    first, second = asyncio.create_task(recent.get()), asyncio.create_task(recent.get())
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    source.answers.set()
    assert (await second, source.asked) == (1, 1)
