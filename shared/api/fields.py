"""The fields that requests and answers are made of, and the two bases of their models."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, StringConstraints

from shared.names import time_text

Team = Literal["billing", "login", "shipping", "account", "other"]
Channel = Literal["email", "web_form", "chat", "phone"]


def storable(text: str) -> str:
    """Postgres keeps UTF-8 without NUL; half a surrogate pair is legal in JSON and in Python, but not in UTF-8."""
    if "\x00" in text:
        raise ValueError("must not contain the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not contain half of a surrogate pair") from None
    return text


Text = Annotated[str, AfterValidator(storable)]
Time = Annotated[datetime, PlainSerializer(time_text, return_type=str, when_used="json")]
CustomerId = Annotated[str, StringConstraints(pattern=r"^C-[0-9]{4,5}$"), Field(examples=["C-0022"])]
WorkspaceId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,64}$"), Field(examples=["team_42"])]
Word = Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,64}$")]  # a kind of job, an error's code


class Sent(BaseModel):
    """A request's body: unknown fields and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Shown(BaseModel):
    """An answer's body."""

    model_config = ConfigDict(frozen=True)
