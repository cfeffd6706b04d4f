"""What the model found: read strictly from its answers, counted by us.

A model names problems and says which tickets (or which problems of earlier summaries) each is made of. Numbers and
example ids come from what it was given, every ticket counts once, and what it was not given counts for nothing: a
ticket's text may make a model say anything, but it cannot make numbers or ids up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter, ValidationError

from shared.errors import BadAnswer
from shared.kinds.support_report.lines import one_line
from shared.provider.answers import first_object

MOST_ON_A_PAGE = 10  # problems: enough that a problem with a ticket or two on every page is seen in the whole
MOST_MERGED = 8
MOST_EXAMPLES = 5
TITLE_LIMIT = 80  # characters, as all limits here
DESCRIPTION_LIMIT = 140
SUMMARY_LIMIT = 800

Key = TypeVar("Key", str, int)
Part = TypeVar("Part")


@dataclass(frozen=True)
class Problem:
    """A problem that customers have; `examples` are names ("T-500001") of the `tickets` that tell of it.

    The description is written when pages are merged.
    """

    title: str
    description: str
    tickets: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Findings:
    """What so many tickets tell, the most frequent problem first."""

    summary: str = ""
    tickets: int = 0
    problems: tuple[Problem, ...] = ()


FINDINGS = TypeAdapter(Findings)


def _visible(limit: int) -> AfterValidator:
    """One line of text that a reader sees."""

    def check(text: str) -> str:
        if line := one_line(text, limit):
            return line
        raise ValueError("shows nothing")

    return AfterValidator(check)


class _Group(BaseModel, Generic[Key]):
    model_config = ConfigDict(strict=True, extra="ignore")

    title: Annotated[str, _visible(TITLE_LIMIT)]
    description: str | None = None
    of: list[Key]

    @property
    def words(self) -> tuple[str, str]:
        return self.title, one_line(self.description or "", DESCRIPTION_LIMIT)


class _Answer(BaseModel, Generic[Key]):
    model_config = ConfigDict(strict=True, extra="ignore")

    summary: Annotated[str, _visible(SUMMARY_LIMIT)]
    problems: list[_Group[Key]]


def of_page(text: str, names: Iterable[str]) -> Findings:
    """What the model's answer says about the tickets of these names. Raises BadAnswer."""
    answer = _read(_Answer[str], text)
    known = {name: name for name in names}
    problems = [
        Problem(*group.words, tickets=len(mine), examples=tuple(mine[:MOST_EXAMPLES]))
        for group, mine in _shared_out(answer.problems, known)
    ]
    return _findings(answer.summary, len(known), problems, MOST_ON_A_PAGE)


def merged(text: str, parts: Iterable[Findings]) -> Findings:
    """What the model's answer makes of the problems of `parts`, which it knows by `numbered`. Raises BadAnswer."""
    parts = list(parts)
    answer = _read(_Answer[int], text)
    problems = [
        Problem(*group.words, tickets=sum(each.tickets for each in mine), examples=_examples(mine))
        for group, mine in _shared_out(answer.problems, numbered(parts))
    ]
    return _findings(answer.summary, sum(part.tickets for part in parts), problems, MOST_MERGED)


def numbered(parts: Iterable[Findings]) -> dict[int, Problem]:
    """The problems of several findings, counted from 1."""
    return dict(enumerate(chain.from_iterable(part.problems for part in parts), 1))


def _read(model: type[_Answer[Key]], text: str) -> _Answer[Key]:
    try:
        return model.model_validate(first_object(text))
    except ValidationError as exc:
        fields = ", ".join(sorted({str(error["loc"][0]) for error in exc.errors()}))
        raise BadAnswer(f"The model's summary cannot be used: {fields} missing or of the wrong shape.") from None


def _shared_out(groups: list[_Group[Key]], known: Mapping[Key, Part]) -> list[tuple[_Group[Key], list[Part]]]:
    """Each group with its parts; what two groups claim belongs to the first. Raises BadAnswer if none has any."""
    free = dict(known)
    shared = []
    for group in groups:
        if mine := [free.pop(key) for key in dict.fromkeys(group.of) if key in free]:
            shared.append((group, mine))
    if groups and not shared:
        raise BadAnswer("The model's summary names problems, but none of what it was asked about.")
    return shared


def _examples(problems: list[Problem]) -> tuple[str, ...]:
    """Some of each in turn, so that they come from all over the period."""
    in_turn = chain.from_iterable(zip_longest(*(problem.examples for problem in problems)))
    return tuple(islice(filter(None, in_turn), MOST_EXAMPLES))


def _findings(summary: str, tickets: int, problems: list[Problem], most: int) -> Findings:
    frequent = sorted(problems, key=lambda problem: problem.tickets, reverse=True)
    return Findings(summary, tickets, tuple(frequent[:most]))
