"""`python -m simulator.host`: run a folder's functions on this machine, as `func start` does."""

import argparse
import asyncio
import os
import socket
import sys
from pathlib import Path

from simulator.host import console
from simulator.host.host import Host, Plan
from simulator.host.host_json import read_host_json
from simulator.host.local_settings import gather_settings, read_local_settings
from simulator.host.options import make_parser, read_options
from simulator.host.settings import Settings
from simulator.host.times import HostTimes
from simulator.host.web.server import PortTaken, bind

LOCAL_ADDRESSES = ("127.0.0.1", "0.0.0.0", "::", "::1")  # noqa: S104 # only compared with: nothing is bound to them


class CannotStart(ValueError):
    """A setting without which the host does not know what to run."""


def main() -> int:
    """Run until stopped; 1, after a line on stderr, when the host cannot start."""
    arguments = make_parser().parse_args()
    try:
        return _run(arguments)
    except (PortTaken, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def _run(arguments: argparse.Namespace) -> int:
    root: Path = arguments.script_root.resolve()
    local = read_local_settings(root)
    options = read_options(arguments, local.host)
    with bind(options.address, options.port) as listening:
        port = listening.getsockname()[1]
        name = "localhost" if options.address in LOCAL_ADDRESSES else options.address
        settings, notices = gather_settings(local, os.environ, root=root, address=f"{name}:{port}")
        _check_runtime(settings)
        host_json = read_host_json(root, settings)
        console.install(host_json.log_levels, verbose=options.verbose)
        print(*notices, f"Functions host stand-in, Python {sys.version.split()[0]}, {root}", sep="\n", flush=True)
        times = HostTimes.from_settings(settings)
        plan = Plan(root, options, settings, host_json, times, base_url=f"http://{name}:{port}")
        return asyncio.run(_live(plan, listening))


async def _live(plan: Plan, listening: socket.socket) -> int:
    return await Host(plan, listening).run()


def _check_runtime(settings: Settings) -> None:
    if (settings.find("FUNCTIONS_WORKER_RUNTIME") or "").lower() != "python":
        raise CannotStart("FUNCTIONS_WORKER_RUNTIME must be set to python, in local.settings.json or the environment")


if __name__ == "__main__":
    sys.exit(main())
