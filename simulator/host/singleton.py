"""The blob lease by which one host of an app alone runs a timer (functions-host B4, timer T10-T12)."""

import asyncio
import logging
from typing import NoReturn

from azure.core.exceptions import AzureError, HttpResponseError, ResourceNotFoundError
from azure.storage.blob.aio import BlobLeaseClient, ContainerClient

from simulator.host.host_stop import HostStop
from simulator.host.hosts_container import create_if_missing
from simulator.host.pause import stopped_within

log = logging.getLogger(__name__)

SHORTEST_PAUSE_S = 1.0


class Singleton:
    """One timer's lease: take it, keep it while the timer runs, free it in the end."""

    def __init__(self, hosts: ContainerClient, host_id: str, name: str) -> None:
        self.path = f"locks/{host_id}/Host.Functions.{name}.Listener"
        self._hosts = hosts
        self._blob = hosts.get_blob_client(self.path)
        self._lease: BlobLeaseClient | None = None
        self._lease_s = 0

    async def take(self, lease_s: int) -> bool:
        """Try once to take it for `lease_s` (15 to 60); false: another host holds it. Raises AzureError."""
        try:
            try:
                self._lease = await self._blob.acquire_lease(lease_duration=lease_s)
            except ResourceNotFoundError:
                await self._create_blob()
                self._lease = await self._blob.acquire_lease(lease_duration=lease_s)
        except HttpResponseError as error:
            if error.status_code != 409:
                raise
            log.info("Unable to acquire Singleton lock (%s).", self.path)
            return False
        log.debug("Singleton lock acquired (%s)", self.path)
        self._lease_s = lease_s
        return True

    async def look_again(self, lease_s: int, look_s: float, stop: asyncio.Event) -> bool:
        """Try every `look_s` seconds on a fixed beat from now until it is taken; false when stopped first."""
        look_at = asyncio.get_running_loop().time()
        while True:
            look_at += look_s
            if await stopped_within(stop, look_at - asyncio.get_running_loop().time()):
                return False
            try:
                if await self.take(lease_s):
                    return True
            except AzureError as error:
                log.warning("Singleton lock %s was not looked at: %s", self.path, error)

    async def keep(self) -> NoReturn:
        """Renew at half time for as long as it is awaited; raises HostStop when the lease is lost.

        An error of the server's own (5xx) only makes the next try come sooner.
        """
        pause_s = self._lease_s / 2
        while True:
            await asyncio.sleep(pause_s)
            try:
                await self._held().renew()
                pause_s = self._lease_s / 2
            except AzureError as error:
                if not is_server_error(error):
                    reason = getattr(error, "error_code", None) or error
                    raise HostStop(f"Singleton lock renewal failed for blob '{self.path}': {reason}") from error
                pause_s = max(pause_s / 2, SHORTEST_PAUSE_S)

    async def free(self) -> None:
        """Leave it to whoever looks next; when storage does not answer it has to run out instead."""
        try:
            await self._held().release()
        except AzureError as error:
            log.warning("Singleton lock %s was not released: %s", self.path, error)
        self._lease = None

    def _held(self) -> BlobLeaseClient:
        if self._lease is None:
            raise RuntimeError(f"the lease on {self.path} was not taken")
        return self._lease

    async def _create_blob(self) -> None:
        await create_if_missing(self._hosts)
        try:
            await self._blob.upload_blob(b"")
        except HttpResponseError as error:
            if error.status_code not in (409, 412):  # there already, and perhaps leased
                raise


def is_server_error(error: AzureError) -> bool:
    return isinstance(error, HttpResponseError) and (error.status_code or 0) >= 500
