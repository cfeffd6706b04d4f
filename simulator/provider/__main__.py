"""`python -m simulator.provider`: the simulated AI provider on a port.

Its weather comes from PROVIDER_SIM_… variables and can be changed while it runs, with `PUT /simulator/mode`.
"""

import argparse
import asyncio
import contextlib
import os
import sys

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from simulator.provider.app import create_app
from simulator.provider.simulation import Simulation
from simulator.provider.weather import BadWeather, Weather, read_weather


class _CuttableProtocol(H11Protocol):
    """Hands the app the means to close the connection, which ASGI itself does not have."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn declares it
        super().connection_made(transport)
        self.app_state = self.app_state | {"close_connection": transport.close}


def main() -> int:
    """Serve until interrupted; 2 if a setting cannot be used, 1 if the port cannot be had."""
    asked = _parse_arguments()
    try:
        weather = read_weather(os.environ)
    except BadWeather as error:
        print(f"provider: {error}", file=sys.stderr)
        return 2
    app = create_app(Simulation(weather), key=os.environ.get("PROVIDER_SIM_KEY") or None)
    config = uvicorn.Config(
        app,
        host=asked.host,
        port=asked.port,
        http=_CuttableProtocol,
        lifespan="off",
        access_log=False,
        log_level="warning",
        # Longer than clients keep theirs: a connection closed as it is used again would look like an outage.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
    socket = config.bind_socket()
    host, port = socket.getsockname()[:2]
    print(f"provider: http://{host}:{port}/v1 ({_describe(weather)})", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[socket])
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m simulator.provider", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument(
        "--port",
        type=int,
        choices=range(65536),
        metavar="PORT",
        default=8300,
        help="0 = any free one, which is printed",
    )
    return parser.parse_args()


def _describe(weather: Weather) -> str:
    quota = f"{weather.rpm} chat calls a minute" if weather.rpm else "no quota"
    return f"{weather.mode}, {quota}, times x {weather.latency_factor:g}"


if __name__ == "__main__":
    sys.exit(main())
