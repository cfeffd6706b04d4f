"""What clients get of the whole system: the queue's numbers, the provider's state, health."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shared.api.fields import Shown, Time


class KindNumbers(Shown):
    """One kind of jobs."""

    queued: int = Field(description="Waiting, due or not.")
    ready: int = Field(description="Queued and due.")
    running: int = Field(description="At work.")
    oldest_queued_seconds: float = Field(description="How long the oldest of those that are ready has been so.")


class BreakerState(Shown):
    """Whether calls to one endpoint of the provider are made."""

    state: Literal["closed", "open", "half_open"] = Field(description="closed: they are. half_open: one is tried.")
    retry_at: Time | None = Field(description="When the next one is tried.")


class ProviderState(Shown):
    """The AI provider as all instances see it."""

    chat_rpm: int | None = Field(description="Chat calls a minute; null when no quota is set.")
    calls_available: int | None = Field(description="Chat calls that could be made at once; null without a quota.")
    paused_until: Time | None = Field(description="No chat call before, because the provider refused one.")
    reason: str | None = Field(description="Why no call is made just now, in words.")
    breakers: dict[str, BreakerState] = Field(description="By endpoint: chat, embeddings.")


class Queue(Shown):
    """The queue's numbers. An `oldest_queued_seconds` that grows without end means no worker, or too few."""

    queued: int = Field(description="Jobs that wait, due or not. Webhooks' deliveries are in `kinds` only.")
    ready: int = Field(description="Queued and due.")
    running: int = Field(description="At work.")
    waiting_for_approval: int = Field(description="Waiting for a person.")
    dead_letter: int = Field(description="Given up after the last attempt, waiting for a person's retry or discard.")
    failed: int = Field(description="Failed for good.")
    finished_last_minute: int = Field(description="Come to any end in the last 60 s.")
    oldest_queued_seconds: float = Field(description="How long the oldest of those that are ready has been so.")
    outbox_pending: int = Field(description="Messages that are to be put on a queue now.")
    outbox_oldest_seconds: float = Field(description="How long the oldest of them has been due.")
    provider: ProviderState = Field(description="The AI provider.")
    kinds: dict[str, KindNumbers] = Field(description="The same by kind, of kinds that have any.")


class Ready(Shown):
    """Whether tickets can be accepted."""

    ready: bool = Field(description="Postgres answers.")
    checks: dict[str, str] = Field(description="database, queue and provider, each `ok` or what is wrong.")


class Live(Shown):
    """This process answers."""

    alive: Literal[True] = Field(default=True, description="Always.")
