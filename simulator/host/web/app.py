"""The host's ASGI app: it waits for the host, then asks the admin API, the functions and the start page in turn."""

import asyncio
import logging
from dataclasses import dataclass

from simulator.host.host_json import HttpOptions
from simulator.host.runs import Runs
from simulator.host.trace import make_trace
from simulator.host.web.admin import AdminApi
from simulator.host.web.keys import Keyring
from simulator.host.web.request import BodyTooLarge, Receive, Request, Scope
from simulator.host.web.response import Response, Send, UnsendableResponse
from simulator.host.web.router import Match, Router
from simulator.host.web.throttle import Throttle, TooManyRequests

log = logging.getLogger(__name__)

HOME_PAGE = b"<!DOCTYPE html><title>Functions</title><h1>Your Functions app is up and running</h1>"
SCALE_OUT = ("x-function-scaleout", "1")  # with which the genuine host asks the platform for another instance


@dataclass(frozen=True)
class Site:
    """What the running host serves. `keys` None: every caller is an admin, as with `func start`."""

    router: Router
    runs: Runs
    admin: AdminApi
    keys: Keyring | None
    throttle: Throttle
    options: HttpOptions
    most_body_bytes: int
    has_home_page: bool


class HttpApp:
    """Requests that come before `open` wait, and are refused when it takes too long."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._site: asyncio.Future[Site] = asyncio.get_running_loop().create_future()

    def open(self, site: Site) -> None:
        self._site.set_result(site)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._site.done():
            await asyncio.wait({self._site}, timeout=self._patience_s)
        if not self._site.done():
            await Response(503).send(send)
            return
        site = self._site.result()
        response = await _answer(site, Request(scope, receive))
        await response.with_headers(site.options.custom_headers).send(send)


async def _answer(site: Site, request: Request) -> Response:
    if (action := site.admin.find(request)) is not None:
        if site.keys and not action.is_public and not site.keys.is_master(request):
            return Response(401)
        return await action.act(request)
    match = site.router.find(request.method, request.path)
    if match is not None:
        return await _answer_by_function(site, request, match)
    if request.path == "/":
        return Response(200, [("content-type", "text/html")], HOME_PAGE) if site.has_home_page else Response(204)
    return Response(404)


async def _answer_by_function(site: Site, request: Request, match: Match) -> Response:
    """A disabled function is there for admins alone: without keys, for everybody (C1)."""
    if site.keys and not site.keys.opens(match.trigger.auth_level, request):
        return Response(401)
    if site.keys and match.function.is_disabled and not site.keys.is_master(request):
        return Response(404)
    try:
        async with site.throttle.place():
            return await _run(site, request, match)
    except TooManyRequests:
        return Response(429, [SCALE_OUT])
    except (BodyTooLarge, UnsendableResponse) as error:
        log.error("Function '%s': %s", match.function.name, error)
        return Response(500)


async def _run(site: Site, request: Request, match: Match) -> Response:
    body = await request.read_body(site.most_body_bytes)
    trace = make_trace(request.headers.get("traceparent", ""), request.headers.get("tracestate", ""))
    head = {"trigger": "httpTrigger", "request": request.describe(match.route_values), "trace": trace}
    reason = "This function was programmatically called via the host APIs."
    return Response.of_outcome(await site.runs.run(match.function.name, reason, head, body))
