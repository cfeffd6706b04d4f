"""One life of the host: worker, functions, listeners and HTTP come up, work, and go down in order (A12)."""

import asyncio
import logging
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from simulator.host import stop_signals
from simulator.host.function_list import list_functions
from simulator.host.functions import Function, read_functions
from simulator.host.host_json import HostJson
from simulator.host.listener_maker import ListenerMaker
from simulator.host.listeners import Listeners
from simulator.host.names import find_host_id
from simulator.host.options import Options
from simulator.host.runs import Runs
from simulator.host.settings import Settings
from simulator.host.storage import Storage
from simulator.host.times import HostTimes
from simulator.host.trigger_runs import TriggerRuns
from simulator.host.web.admin import AdminApi
from simulator.host.web.app import HttpApp, Site
from simulator.host.web.keys import Keyring
from simulator.host.web.router import Router
from simulator.host.web.server import HttpServer, allow_origins
from simulator.host.web.throttle import Throttle
from simulator.host.worker_child import Launch
from simulator.host.worker_pool import WorkerPool
from simulator.host.worker_process import StartFailed

log = logging.getLogger(__name__)

MOST_WORKERS = 10
MOST_BODY_BYTES = 104_857_600


@dataclass(frozen=True)
class Plan:
    """Everything that is decided before the host starts."""

    root: Path
    options: Options
    settings: Settings
    host_json: HostJson
    times: HostTimes
    base_url: str


class Host:
    """Runs the app on a bound socket."""

    def __init__(self, plan: Plan, listening: socket.socket) -> None:
        self._plan = plan
        self._exit_code = 0
        self._stopping = asyncio.Event()
        self._storage = Storage(plan.settings)
        self._pool = WorkerPool(_launch(plan), _count_workers(plan.settings), plan.times, self._give_up)
        self._app = HttpApp(plan.times.request_wait_seconds)
        options = plan.options
        self._http = HttpServer(allow_origins(self._app, options.cors, credentials=options.cors_credentials), listening)
        # None and nothing yet: what a stop finds that comes before the functions are known.
        self._listeners = Listeners([], self._fail)
        self._runs = Runs(self._pool, {}, plan.host_json.function_timeout_s)

    async def run(self) -> int:
        """Work until a signal or an error stops it; the exit code, 0 only for a signal."""
        stop_signals.heed(self._stopping.set, self._end_now)
        self._http.start()
        starting = asyncio.create_task(self._start())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                await stopping
        except (StartFailed, ValueError) as error:
            log.error("The host cannot start: %s", error)
            self._exit_code = 1
        finally:
            starting.cancel()
            stopping.cancel()
            await asyncio.gather(starting, stopping, return_exceptions=True)
            await self._stop()
        return self._exit_code

    async def _start(self) -> None:
        plan = self._plan
        wanted = frozenset(name.lower() for name in plan.options.functions) or plan.host_json.functions
        functions = read_functions(await self._pool.start(), plan.settings, wanted)
        host_id = find_host_id(plan.settings, plan.root)
        maker = ListenerMaker(self._storage, plan.settings, plan.host_json, host_id)
        writers = {function.name: maker.make_writers(function) for function in functions}
        self._runs = Runs(self._pool, writers, plan.host_json.function_timeout_s)
        self._listeners = Listeners(maker.make_all(functions, TriggerRuns(self._runs)), self._fail)
        site = self._make_site(functions, host_id)
        self._show(functions, site.keys)
        self._listeners.start()
        self._app.open(site)
        log.info("Host started")

    def _make_site(self, functions: list[Function], host_id: str) -> Site:
        plan, http = self._plan, self._plan.host_json.http
        settings = plan.settings
        return Site(
            router=Router(functions, http.route_prefix),
            runs=self._runs,
            admin=AdminApi(host_id, functions, self._listeners, self._runs, http.route_prefix),
            keys=Keyring.from_settings(settings) if plan.options.needs_keys else None,
            throttle=Throttle(http),
            options=http,
            most_body_bytes=int(settings.find("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT") or MOST_BODY_BYTES),
            has_home_page=not settings.is_on("AzureWebJobsDisableHomepage"),
        )

    def _show(self, functions: list[Function], keys: Keyring | None) -> None:
        prefix = self._plan.host_json.http.route_prefix
        print("", "Functions:", "", *list_functions(functions, self._plan.base_url, prefix), "", sep="\n")
        if keys is not None:
            print(f"Function key: {keys.function}\nMaster key: {keys.master}\n")

    async def _stop(self) -> None:
        """Take on nothing new, give what runs its time, then let go of the rest as a killed host would."""
        times = self._plan.times
        log.info("Stopping the host")
        self._http.stop_accepting()
        self._listeners.stop()
        self._pool.tell_stopping()
        settled = asyncio.ensure_future(self._settle())
        await asyncio.wait({settled}, timeout=times.stop_seconds)
        if not settled.done():
            log.warning("Host did not shutdown within its allotted time: draining the worker")
            await asyncio.wait({settled}, timeout=times.drain_seconds)
        if not settled.done():
            log.warning("Draining timed out with %d runs unfinished", self._runs.outstanding)
        settled.cancel()
        await self._listeners.drop()
        await self._http.drop()
        await self._pool.close()
        await self._storage.close()
        log.info("Host stopped")

    async def _settle(self) -> None:
        await asyncio.gather(self._listeners.wait_until_settled(), self._http.wait_until_answered())
        await self._runs.wait_until_settled()

    def _give_up(self, reason: str) -> None:
        log.error("%s Shutting down and proactively recycling the Functions Host to recover", reason)
        self._exit_code = 1
        self._stopping.set()

    def _fail(self, reason: str) -> None:
        log.error("An unhandled exception has occurred. Host is shutting down. %s", reason)
        self._exit_code = 1
        self._stopping.set()

    def _end_now(self, exit_code: int) -> None:
        """End without waiting for anything; the worker is killed, and would notice by itself."""
        self._pool.kill()
        os._exit(exit_code)


def _launch(plan: Plan) -> Launch:
    debug = plan.options.verbose or bool(plan.settings.find("PYTHON_ENABLE_DEBUG_LOGGING"))
    return Launch(plan.root, plan.settings.environment, debug)


def _count_workers(settings: Settings) -> int:
    """FUNCTIONS_WORKER_PROCESS_COUNT, 1 to 10 (D1)."""
    asked = settings.find("FUNCTIONS_WORKER_PROCESS_COUNT") or "1"
    return min(max(int(asked), 1), MOST_WORKERS) if asked.isdecimal() else 1
