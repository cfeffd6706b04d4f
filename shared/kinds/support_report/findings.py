"""What the model found: read strictly from its answers, counted by us.

A model names problems and says which tickets (or which problems of earlier summaries) belong to each. Numbers and
example ids come from what it was given, every ticket counts once, and an id that it was not given counts for nothing:
a ticket's text can make a model say anything, but not make numbers or ids up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from shared.errors import BadAnswer
from shared.kinds.support_report.lines import one_line
from shared.provider.answers import first_object

MOST_PROBLEMS = 6
MOST_EXAMPLES = 5
TITLE_LIMIT = 80
DESCRIPTION_LIMIT = 140
SUMMARY_LIMIT = 800

Key = TypeVar("Key", str, int)


@dataclass(frozen=True)
class Problem:
    """A problem that customers have; `examples` are ticket names ("T-500001") of the `tickets` it counts."""

    title: str
    description: str
    tickets: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Findings:
    """What some tickets tell, most frequent problem first."""

    summary: str = ""
    tickets: int = 0
    problems: tuple[Problem, ...] = ()


FINDINGS = TypeAdapter(Findings)

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _Group(_Answer, Generic[Key]):
    title: Text
    description: str = ""
    of: list[Key] = Field(alias="tickets")


class _Said(_Answer, Generic[Key]):
    summary: Text
    problems: list[_Group[Key]]


class _MergedGroup(_Group[int]):
    of: list[int]


class _Merged(_Said[int]):
    problems: list[_MergedGroup]  # type: ignore[assignment]
