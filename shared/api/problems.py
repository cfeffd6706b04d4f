"""What a model refuses, as the API says it."""

from __future__ import annotations

from pydantic import ValidationError

from shared.errors import FieldProblem


def problems(error: ValidationError, *, within: str = "") -> list[FieldProblem]:
    """One entry a problem, with the field's dotted name, below `within` if that is given."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        FieldProblem(".".join(str(part) for part in (within, *problem["loc"]) if part != "") or "body", problem["msg"])
        for problem in found
    ]
