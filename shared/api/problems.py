"""What is refused, as the API says it: the body of every error, and what a model has against a request."""

from __future__ import annotations

from pydantic import Field, ValidationError

from shared.api.fields import Shown
from shared.errors import FieldProblem


class ProblemField(Shown):
    """One field that cannot be accepted."""

    field: str = Field(description="Its dotted name; `body` for the whole.", examples=["subject"])
    problem: str = Field(description="What is wrong with it.", examples=["Field required"])


class Problem(Shown):
    """What went wrong."""

    code: str = Field(description="For programs: one of the codes that this document names.", examples=["not_found"])
    message: str = Field(description="For people.", examples=["There is no job 7."])
    request_id: str = Field(description="What to name when asking us; also X-Request-Id.", examples=["1f0c9a"])
    fields: list[ProblemField] | None = Field(default=None, description="With `validation_error` only.")


class ErrorBody(Shown):
    """Every error looks like this."""

    error: Problem = Field(description="The one error.")


def problems(error: ValidationError, *, within: str = "") -> list[FieldProblem]:
    """One entry a problem, with the field's dotted name, below `within` if that is given."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        FieldProblem(".".join(str(part) for part in (within, *problem["loc"]) if part != "") or "body", problem["msg"])
        for problem in found
    ]
