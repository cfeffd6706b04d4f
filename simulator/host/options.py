"""The command line: the options of `func start` that make sense here."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from simulator.host.local_settings import LocalHost


@dataclass(frozen=True)
class Options:
    """How to start; port 0 is any free one."""

    port: int
    address: str
    cors: str
    cors_credentials: bool
    functions: tuple[str, ...]
    needs_keys: bool
    verbose: bool


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulator.host", description=__doc__)
    parser.add_argument("--script-root", type=Path, default=Path(), metavar="DIR", help="the folder of host.json")
    parser.add_argument("-p", "--port", type=int, help="default 7071; 0 is any free one, which is printed")
    parser.add_argument("--address", help="default 127.0.0.1")
    parser.add_argument("--functions", nargs="+", default=[], metavar="NAME", help="run only these")
    parser.add_argument("--enableAuth", action="store_true", dest="needs_keys", help="ask for keys, as in Azure")
    parser.add_argument("--cors", metavar="ORIGINS", help="a comma list, or *")
    parser.add_argument("--cors-credentials", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="show what the host itself does")
    return parser


def read_options(arguments: argparse.Namespace, defaults: LocalHost) -> Options:
    """The command line over the `Host` section of local.settings.json."""
    return Options(
        port=defaults.port if arguments.port is None else arguments.port,
        address=arguments.address or defaults.address,
        cors=defaults.cors if arguments.cors is None else arguments.cors,
        cors_credentials=arguments.cors_credentials or defaults.cors_credentials,
        functions=tuple(arguments.functions),
        needs_keys=arguments.needs_keys,
        verbose=arguments.verbose,
    )
