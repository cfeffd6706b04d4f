"""A recorded scenario: what was done from outside, and what was seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator.host.queue_settings import QueueSettings, QueueTimes
from tests.replay.events import Event
from tests.replay.faults import Fault
from tests.replay.tags import Tags

# Raw texts of E64, Eone and G1 that are no base64.
NOT_BASE64 = frozenset({"notb64", "notb64json", "nopad", "urlsafe", "padmid", "bad1", "bad2"})


@dataclass(frozen=True)
class Input:
    """Something done from outside."""

    at_s: float
    op: str
    queue: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Scenario:
    """One recording; or a shortened one, with smaller times all over (see shortening.py)."""

    name: str
    about: str
    settings: QueueSettings
    times: QueueTimes
    queues: tuple[str, ...]
    fault: Fault | None
    inputs: tuple[Input, ...]
    timeline: tuple[Event, ...]
    exit_code: int
    exit_at_s: float
    tags: Tags
    is_shortened: bool = False

    @property
    def undecodable(self) -> frozenset[str]:
        """The tags of messages that cannot be decoded."""
        return NOT_BASE64 if self.settings.message_encoding == "base64" else frozenset()

    @property
    def refuses_connections(self) -> bool:
        """Whether the service goes away for good."""
        return any(entry.fields.get("text") == "port closed" for entry in self.inputs)

    @property
    def needs_process(self) -> bool:
        """Whether the host has to be a process of its own, because it is killed or ends itself."""
        return any(
            entry.fields.get("signal") == "SIGKILL" or "exit" in entry.fields.get("body", {}) for entry in self.inputs
        )
