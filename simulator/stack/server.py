"""What Postgres and Azurite have in common: a process that is ready some time after it was started."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from simulator.stack.process import Process


class Server(ABC):
    """A server with files of its own, that may be stopped, killed and started again."""

    process: Process

    @abstractmethod
    def prepare(self) -> None:
        """Do what has to be done before the process can start."""

    @abstractmethod
    def wait_until_ready(self) -> None:
        """Wait until clients are served; raise StackError or TimeoutError if that will not be."""

    def start(self) -> None:
        """Start the server and wait until it is ready; if it never is, nothing is left running."""
        if self.process.running:
            return
        self.prepare()
        try:
            self.process.start()
            self.wait_until_ready()
        except BaseException:
            self.process.kill()
            raise

    def stop(self) -> None:
        """Let it save everything and end."""
        self.process.stop()

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()

    def restart(self) -> None:
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
