"""The host's own API under /admin: its state, a drain, a run of a function by hand (functions-host A12, C7)."""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from simulator.host.functions import Function, HttpTrigger
from simulator.host.listeners import Listeners
from simulator.host.runs import Runs
from simulator.host.trigger_runs import TriggerRuns
from simulator.host.web.request import BodyTooLarge, Request
from simulator.host.web.response import Response
from simulator.host.web.router import make_path

IMITATED_VERSION = "4.1052.200"
MOST_INPUT_BYTES = 1 << 20
_FUNCTION = re.compile(r"/admin/functions/([^/]+)(/status)?")


@dataclass(frozen=True)
class Action:
    """What a request to the admin API does; a public one needs no key."""

    act: Callable[[Request], Awaitable[Response]]
    is_public: bool = False


class AdminApi:
    """The part of the genuine host's admin API that people and scripts use on a machine of their own."""

    def __init__(
        self, host_id: str, functions: list[Function], listeners: Listeners, runs: Runs, route_prefix: str
    ) -> None:
        self._host_id = host_id
        self._functions = {function.name.lower(): function for function in functions}
        self._listeners = listeners
        self._runs = runs
        self._by_hand = TriggerRuns(runs)
        self._route_prefix = route_prefix
        self._started_at = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._host_actions = {
            ("GET", "ping"): Action(_ping, is_public=True),
            ("POST", "ping"): Action(_ping, is_public=True),
            ("GET", "status"): Action(self._show_status),
            ("POST", "drain"): Action(self._drain),
            ("GET", "drain/status"): Action(self._show_drain),
            ("POST", "resume"): Action(self._resume),
        }

    def find(self, request: Request) -> Action | None:
        """The action that a request asks for; None if it is not for the admin API."""
        path = request.path.rstrip("/").lower()
        if path.startswith("/admin/host/"):
            return self._host_actions.get((request.method, path.removeprefix("/admin/host/")))
        if path == "/admin/functions" and request.method == "GET":
            return Action(self._list)
        match = _FUNCTION.fullmatch(path)
        if match is None:
            return None
        acts = {("POST", None): self._invoke, ("GET", None): self._show, ("GET", "/status"): _show_no_errors}
        act = acts.get((request.method, match[2]))
        return Action(partial(act, self._functions.get(match[1]))) if act else None

    async def _show_status(self, _: Request) -> Response:
        return _json(
            {
                "id": self._host_id,
                "state": "Running",
                "version": IMITATED_VERSION,
                "versionDetails": "local stand-in",
                "processUptime": round((time.monotonic() - self._started_at) * 1000),
                "functionAppContentEditingState": "NotAllowed",
            }
        )

    async def _drain(self, _: Request) -> Response:
        self._listeners.stop()
        return Response(202)

    async def _show_drain(self, _: Request) -> Response:
        state = "Disabled"
        if self._listeners.are_draining:
            state = "InProgress" if self._runs.outstanding else "Completed"
        return _json({"state": state, "outstandingInvocations": self._runs.outstanding, "outstandingRetries": 0})

    async def _resume(self, _: Request) -> Response:
        if self._listeners.are_draining:
            self._listeners.start()
        return _json({"state": "Running"})

    async def _list(self, _: Request) -> Response:
        return _json([self._describe(function) for function in self._functions.values()])

    async def _show(self, function: Function | None, _: Request) -> Response:
        return _json(self._describe(function)) if function else Response(404)

    async def _invoke(self, function: Function | None, request: Request) -> Response:
        """Accept a run at once; how it ends is only in the log."""
        try:
            order = json.loads(await request.read_body(MOST_INPUT_BYTES))
        except (ValueError, BodyTooLarge):
            return Response(400)
        if not isinstance(order, dict):
            return Response(400)
        if function is None:
            return Response(404)
        task = asyncio.create_task(self._by_hand.run_by_hand(function, _input_text(order.get("input"))))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return Response(202)

    def _describe(self, function: Function) -> dict[str, Any]:
        described = {
            "name": function.name,
            "language": "python",
            "isDisabled": function.is_disabled,
            "config": {"bindings": function.bindings},
        }
        if isinstance(function.trigger, HttpTrigger):
            described["invoke_url_template"] = "/" + make_path(self._route_prefix, function.trigger.route)
        return described


async def _ping(_: Request) -> Response:
    return Response(200)


async def _show_no_errors(function: Function | None, _: Request) -> Response:
    return _json({}) if function else Response(404)


def _input_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _json(value: Any) -> Response:
    return Response(200, [("content-type", "application/json; charset=utf-8")], json.dumps(value).encode())
