"""The storage clients of one host, opened by the names that functions' bindings use."""

from contextlib import AsyncExitStack

from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from simulator.host.hosts_container import open_hosts_container
from simulator.host.names import find_connection, resolve_placeholders
from simulator.host.queue_names import normalize_queue_name, poison_queue_name
from simulator.host.settings import Settings


class Storage:
    """Opens clients, and closes them all in the end. Raises ValueError for a name that leads nowhere."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened = AsyncExitStack()
        self._hosts: ContainerClient | None = None

    def open_queue(self, name: str, connection: str | None) -> QueueClient:
        """`name` and `connection` are as the binding has them."""
        return self._open(normalize_queue_name(resolve_placeholders(name, self._settings)), connection)

    def open_poison_queue(self, queue: str, connection: str | None) -> QueueClient | None:
        """The poison queue of the queue called `queue`, if it has one."""
        poison = poison_queue_name(queue)
        return self._open(poison, connection) if poison else None

    def hosts_container(self) -> ContainerClient:
        """Where the app's hosts agree on their timers, in AzureWebJobsStorage."""
        if self._hosts is None:
            self._hosts = open_hosts_container(find_connection(None, self._settings))
            self._opened.push_async_callback(self._hosts.close)
        return self._hosts

    async def close(self) -> None:
        await self._opened.aclose()

    def _open(self, queue: str, connection: str | None) -> QueueClient:
        client = QueueClient.from_connection_string(find_connection(connection, self._settings), queue)
        self._opened.push_async_callback(client.close)
        return client
