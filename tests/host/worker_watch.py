"""How a test notices the end of a worker process: by the connection that only that process held."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.host.running_host import DEADLINE_S, RunningHost


class WorkerWatch:
    """The other end of a connection of a worker's."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self._connection = connection

    def wait_until_gone(self) -> None:
        """Return when the process has ended; fail after a while."""
        self._connection.settimeout(DEADLINE_S)
        try:
            assert self._connection.recv(1) == b""
        except ConnectionResetError:
            return


@contextmanager
def watch_worker(host: RunningHost) -> Iterator[WorkerWatch]:
    """Watch the worker that the `http` app runs in now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        pid = host.get(f"/v1/hold/{listening.getsockname()[1]}").json()
        connection, _ = listening.accept()
        with connection:
            yield WorkerWatch(pid, connection)
