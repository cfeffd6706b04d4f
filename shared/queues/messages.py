"""What travels on the queues: small JSON texts, base64 like every message of ours."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from shared.names import MAX_ID

SYSTEM = "azure_storage_queues"  # as spans call it
NO_DELIVERY = 0  # no row has it
MAX_DELIVERY = 2**31 - 1


class UnreadableMessage(ValueError):
    """A text that names no job; the host moves it to the poison queue after its five deliveries."""


class WorkMessage(BaseModel):
    """`{"job_id": 7, "delivery": 1, "traceparent": "…"}`: a hint that a job may be ready; unknown keys are ignored.

    On the queue of webhooks the job is an event's delivery, and the message names it `event_id`.
    """

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, populate_by_name=True)

    job_id: int = Field(validation_alias=AliasChoices("job_id", "event_id"))
    delivery: int = NO_DELIVERY
    traceparent: str | None = None

    @property
    def can_fit(self) -> bool:
        """Whether a row can have these numbers at all."""
        return 1 <= self.job_id <= MAX_ID and 1 <= self.delivery <= MAX_DELIVERY

    @classmethod
    def read(cls, text: str) -> WorkMessage:
        """Read what the trigger decoded; one more layer of base64 is taken off (Storage Explorer encodes or not by a
        tick box). Raises UnreadableMessage."""
        for candidate in (text, _decoded(text)):
            if candidate is not None:
                try:
                    return cls.model_validate_json(candidate)
                except ValidationError:
                    continue
        raise UnreadableMessage(
            f"not a message of ours ({len(text)} characters): a JSON object with a whole number job_id"
        )


class EventMessage(BaseModel):
    """The same as it is put on the queue of webhooks."""

    event_id: int
    delivery: int
    traceparent: str | None = None


class PoisonMessage(BaseModel):
    """What an operator reads on the poison queue about a dead letter."""

    job_id: int
    delivery: int
    kind: str
    ticket_id: str | None
    attempts: int
    error: dict[str, Any]
    dead_lettered_at: str
    request_id: str | None


@dataclass(frozen=True)
class StoredCopy:
    """A message found on a poison queue. `is_plain`: not base64, which is how a person's own text looks, never ours."""

    job_id: int
    delivery: int
    is_plain: bool

    @classmethod
    def read(cls, raw: str) -> StoredCopy | None:
        """What job a stored text is about, under up to two layers of base64; None when it is no job at all."""
        once = _decoded(raw)
        for text, is_plain in ((raw, True), (once, False), (_decoded(once) if once else None, False)):
            if text is not None:
                try:
                    message = WorkMessage.model_validate_json(text)
                except ValidationError:
                    continue
                return cls(message.job_id, message.delivery, is_plain) if message.can_fit else None
        return None


def encode(message: WorkMessage | EventMessage | PoisonMessage) -> str:
    """The text as it is put on the queue. What a hint does not say it leaves out; a dead letter has all its keys."""
    text = message.model_dump_json(exclude_none=not isinstance(message, PoisonMessage))
    return base64.b64encode(text.encode()).decode()


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode(text.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
