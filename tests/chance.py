"""Stories told by chance: what comes next is drawn by weight from the rules that can come now, and its words as well.

Drawn here and not by a library of properties: such a one looks for the smallest story that breaks, and so begins with
stories in which next to nothing happens, and leaves most rules out of most others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, TypeVar

Teller = TypeVar("Teller")


@dataclass(frozen=True)
class Rule(Generic[Teller]):
    """`when`: whether it can come now; `words`: for each argument what it is drawn from."""

    work: Callable[..., Awaitable[None]]
    weight: int
    when: Callable[[Teller], object]
    words: Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class Move(Generic[Teller]):
    """A rule with its words drawn."""

    rule: Rule[Teller]
    words: Mapping[str, object]

    async def make(self, teller: Teller) -> None:
        await self.rule.work(teller, **self.words)

    def __str__(self) -> str:
        return f"{self.rule.work.__name__}({', '.join(f'{name}={word!r}' for name, word in self.words.items())})"


Work = TypeVar("Work", bound=Callable[..., Awaitable[None]])


class Rules(Generic[Teller]):
    """The rules of one kind of story: `rule = Rules[Tale]()`, then `@rule(weight=2, which=range(8))`."""

    def __init__(self) -> None:
        self._rules: list[Rule[Teller]] = []

    def __call__(
        self, *, weight: int = 1, when: Callable[[Teller], object] = lambda _: True, **words: Sequence[Any]
    ) -> Callable[[Work], Work]:
        def add(work: Work) -> Work:
            self._rules.append(Rule(work, weight, when, words))
            return work

        return add

    def draw(self, chance: Random, teller: Teller) -> Move[Teller]:
        rules = [rule for rule in self._rules if rule.when(teller)]
        (rule,) = chance.choices(rules, [rule.weight for rule in rules])
        return Move(rule, {name: chance.choice(words) for name, words in rule.words.items()})
