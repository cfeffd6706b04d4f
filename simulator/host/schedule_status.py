"""What the host remembers of a timer between runs, and so between its own lives (functions-host B2)."""

import logging
from datetime import UTC, datetime

from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.storage.blob.aio import ContainerClient
from pydantic import BaseModel, ConfigDict, field_serializer, field_validator
from pydantic.alias_generators import to_pascal

from simulator.host.hosts_container import create_if_missing
from simulator.host.ncrontab import Schedule

log = logging.getLogger(__name__)

NEVER = datetime.min.replace(tzinfo=UTC)


class Occurrences(BaseModel):
    """The blob's content: the last start, the next due time, and the instant from which that was counted."""

    model_config = ConfigDict(frozen=True, alias_generator=to_pascal, validate_by_name=True)

    last: datetime
    next: datetime
    last_updated: datetime = NEVER

    @field_validator("*")
    @classmethod
    def take_bare_times_as_utc(cls, moment: datetime) -> datetime:
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @field_serializer("*")
    def write_with_offset(self, moment: datetime) -> str:
        return moment.isoformat()  # `+00:00` and never `Z`, as the genuine status reads

    def as_worker_json(self) -> dict[str, str]:
        return self.model_dump(by_alias=True)


def resume(stored: Occurrences | None, schedule: Schedule, now: datetime) -> Occurrences:
    """What holds at the start of a listener; anything other than `stored` is to be written back.

    A stored `next` which the schedule does not give means that the schedule was changed: it is counted again,
    never into the past, and the timer counts as never run.
    """
    if stored is None:
        return Occurrences(last=NEVER, next=schedule.next_after(now), last_updated=now)
    counted_from = next((at for at in (stored.last, stored.last_updated) if at != NEVER), now)
    expected = schedule.next_after(counted_from)
    if stored.next == expected:
        return stored
    if now > expected:
        counted_from, expected = now, schedule.next_after(now)
    return Occurrences(last=NEVER, next=expected, last_updated=counted_from)


def after_run(before: Occurrences, schedule: Schedule, started_at: datetime, *, is_planned: bool) -> Occurrences:
    """What holds after a run: the next occurrence counts from its start, so late ones are dropped but for one.

    A planned run that started a touch early counts as on time, or else its occurrence would come up again.
    """
    last = max(started_at, before.next) if is_planned else started_at
    return Occurrences(last=last, next=schedule.next_after(last), last_updated=last)


class ScheduleStatus:
    """One timer's status blob."""

    def __init__(self, hosts: ContainerClient, host_id: str, name: str) -> None:
        self.path = f"timers/{host_id}/Host.Functions.{name}/status"
        self._name = name
        self._hosts = hosts

    async def read(self) -> Occurrences | None:
        """None when nothing is stored yet. Raises AzureError, or ValueError for a blob it cannot read."""
        try:
            blob = await self._hosts.download_blob(self.path)
            return Occurrences.model_validate_json(await blob.readall())
        except ResourceNotFoundError:
            return None

    async def write(self, occurrences: Occurrences) -> None:
        """Best effort: a failure is logged and the timer goes on."""
        try:
            await create_if_missing(self._hosts)
            content = occurrences.model_dump_json(by_alias=True)
            await self._hosts.upload_blob(self.path, content, overwrite=True)
        except AzureError as error:
            log.error("Function '%s' failed to update the timer trigger status: %s", self._name, error)
