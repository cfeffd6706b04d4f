"""The blob container in which a host keeps its timers' leases and statuses."""

from azure.core.exceptions import ResourceExistsError
from azure.storage.blob.aio import ContainerClient, LinearRetry


def open_hosts_container(connection_string: str) -> ContainerClient:
    """A client for `azure-webjobs-hosts`; the caller closes it.

    It retries three times a second apart, since the library's own pauses outlast the shortest lease of 15 s.
    """
    retry = LinearRetry(backoff=1, retry_total=3, random_jitter_range=0)
    return ContainerClient.from_connection_string(connection_string, "azure-webjobs-hosts", retry_policy=retry)


async def create_if_missing(hosts: ContainerClient) -> None:
    try:
        await hosts.create_container()
    except ResourceExistsError:
        return
