"""The fields that requests and answers are made of, and the two bases of their models."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)

from shared.names import time_text

Team = Literal["billing", "login", "shipping", "account", "other"]
Channel = Literal["email", "web_form", "chat", "phone"]


def _whole(value: Any) -> Any:
    """JSON has one kind of numbers: 30.0 is 30."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def storable(text: str) -> str:
    """Postgres keeps UTF-8 without NUL; half a surrogate pair is legal in JSON and in Python, but not in UTF-8."""
    if "\x00" in text:
        raise ValueError("must not contain the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not contain half of a surrogate pair") from None
    return text


# What `storable` asks for, and what trimming leaves, as a document's readers can check it.
_NO_NUL = {"pattern": r"^[^\x00]*$"}
_NOT_BLANK = {"pattern": r"^[^\x00]*[^\s\x00][^\x00]*$"}

Whole = Annotated[int, BeforeValidator(_whole)]
Text = Annotated[str, AfterValidator(storable), Field(json_schema_extra=_NO_NUL)]
Trimmed = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1),
    AfterValidator(storable),
    Field(json_schema_extra=_NOT_BLANK),
]
Signature = Annotated[Trimmed, Field(max_length=200, description="Who does this.", examples=["mei"])]
Time = Annotated[
    datetime,
    PlainSerializer(time_text, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
TicketId = Annotated[str, Field(description="The ticket's name.", examples=["T-500001"])]
JobId = Annotated[int, Field(description="The job's number.", examples=[1])]
CustomerId = Annotated[
    str,
    StringConstraints(pattern=r"^C-[0-9]{4,5}$"),
    Field(description="The customer's name.", examples=["C-0022"]),
]
WorkspaceId = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9_-]{1,64}$"),
    Field(description="The workspace (a shop, a team) that it belongs to.", examples=["team_42"]),
]
Word = Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,64}$")]  # a kind of job, an error's code
KindName = Annotated[Word, Field(description="A kind of job.", examples=["support_report"])]
ErrorCode = Annotated[Word, Field(description="A job's error code.", examples=["provider_timeout"])]


class Sent(BaseModel):
    """A request's body: unknown fields and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Shown(BaseModel):
    """An answer's body."""

    model_config = ConfigDict(frozen=True)
