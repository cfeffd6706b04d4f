"""TCP ports of this machine: finding free ones, and noticing who is there first."""

import socket
from contextlib import ExitStack

from simulator.stack.errors import StackError

LOOPBACK = "127.0.0.1"
NOBODYS = 1  # below what a system gives out, so that nobody comes to listen there by chance


def free_ports(count: int) -> tuple[int, ...]:
    """Return `count` different ports that nobody listens on right now."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((LOOPBACK, 0))
        return tuple(probe.getsockname()[1] for probe in probes)


def answers(port: int) -> bool:
    """Say whether something accepts connections on the port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def require_free(port: int, who: str, setting: str) -> None:
    """Raise StackError, saying which setting moves `who` elsewhere, if the port is taken."""
    if answers(port):
        raise StackError(f"port {port} ({who}) is taken: stop what uses it, or set {setting} to another one")
