"""The ASGI shell: reads requests, waits as planned, sends what was decided; and a small API to steer it."""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from simulator.provider import wire
from simulator.provider.calls import BadCall, Call, read_chat, read_embeddings
from simulator.provider.simulation import Simulation
from simulator.provider.weather import BadWeather, change_weather, read_turn

Sleep = Callable[[float], Awaitable[None]]


def create_app(
    simulation: Simulation | None = None, *, key: str | None = None, sleep: Sleep = asyncio.sleep
) -> Starlette:
    """The provider as an ASGI app, served on a port or called through `httpx.ASGITransport`.

    With `key`, calls must bring it (`Authorization: Bearer` or `api-key`). Without a port under it a cut
    connection is a ConnectionResetError, and a stalled call ends only when its caller's deadline cancels it.
    """
    simulation = simulation or Simulation()
    calls = _Calls(simulation, key, sleep)
    controls = _Controls(simulation)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", calls.chat, methods=["POST"]),
            Route("/v1/embeddings", calls.embeddings, methods=["POST"]),
            Route("/simulator/mode", controls.mode, methods=["GET", "PUT", "PATCH"]),
            Route("/simulator/script", controls.script, methods=["GET", "PUT"]),
            Route("/simulator/counters", controls.counters, methods=["GET", "DELETE"]),
            Route("/simulator/reset", controls.reset, methods=["POST"]),
        ],
        exception_handlers={BadCall: _refuse_call, BadWeather: _refuse_weather, HTTPException: _refuse_path},
    )


class _Calls:
    """The API that the app under test calls."""

    def __init__(self, simulation: Simulation, key: str | None, sleep: Sleep) -> None:
        self._simulation = simulation
        self._key = key
        self._sleep = sleep

    async def chat(self, request: Request) -> Response:
        return await self._serve(request, read_chat)

    async def embeddings(self, request: Request) -> Response:
        return await self._serve(request, read_embeddings)

    async def _serve(self, request: Request, read: Callable[[bytes, str | None], Call]) -> Response:
        call = read(await request.body(), request.headers.get("x-client-request-id"))
        with self._simulation.counters.under_way():
            plan = self._simulation.begin(call, self._is_authorised(request))
            if plan.reply.ending == "never":
                await _wait_until_gone(request)
                return Response()
            await self._sleep(plan.delay_s)
            if plan.reply.ending == "cut":
                await _cut(request)
                return Response()
        return _response(plan.reply)

    def _is_authorised(self, request: Request) -> bool:
        if self._key is None:
            return True
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = bearer or request.headers.get("api-key", "")
        return hmac.compare_digest(given.encode(), self._key.encode())


class _Controls:
    """The simulator's own API: JSON in, JSON out."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    async def mode(self, request: Request) -> Response:
        """GET shows the weather; PUT sets it (left out = as at the start), PATCH changes the given fields."""
        if request.method != "GET":
            base = self._simulation.weather if request.method == "PATCH" else self._simulation.first_weather
            self._simulation.change(change_weather(base, await _read_object(request)))
        return JSONResponse(self._simulation.weather.model_dump())

    async def script(self, request: Request) -> Response:
        """PUT `{"turns": [{"mode": "outage", "times": 2, "only": ["embed"]}]}`; GET shows what is left."""
        if request.method == "PUT":
            turns = (await _read_object(request)).get("turns")
            if not isinstance(turns, list):
                raise BadWeather("turns: must be a list")
            self._simulation.play([read_turn(turn) for turn in turns])
        return JSONResponse({"turns": [turn.model_dump() for turn in self._simulation.script]})

    async def counters(self, request: Request) -> Response:
        """GET shows the counters; DELETE sets them to zero and shows what they were."""
        snapshot = self._simulation.counters.snapshot()
        if request.method == "DELETE":
            self._simulation.counters.reset()
        return JSONResponse(snapshot)

    async def reset(self, _: Request) -> Response:
        """POST: everything as at the start."""
        self._simulation.restart()
        return JSONResponse(self._simulation.weather.model_dump())


class _HalfAnswer(Response):
    """An answer that promises its whole length and stops halfway."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytes(self.body)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        await _cut(Request(scope, receive))


def _response(reply: wire.Reply) -> Response:
    kind = _HalfAnswer if reply.ending == "cut_halfway" else Response
    response = kind(reply.payload(), reply.status, media_type="application/json")
    response.raw_headers += _encode(reply.headers)
    return response


def _encode(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    # A server may not send white space around a value; a client would not see it anyway.
    return [(name.encode(), value.strip().encode()) for name, value in headers]


async def _cut(request: Request) -> None:
    close = getattr(request.state, "close_connection", None)
    if close is None:
        raise ConnectionResetError("the simulated provider cut the connection")
    close()
    await _wait_until_gone(request)


async def _wait_until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _read_object(request: Request) -> dict[str, Any]:
    try:
        value = json.loads(await request.body())
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BadWeather("the body must be a JSON object")
    return value


async def _refuse_call(_: Request, error: Exception) -> Response:
    param = error.param if isinstance(error, BadCall) else None
    return JSONResponse(wire.failure(str(error), "invalid_request_error", None, param), 400)


async def _refuse_weather(_: Request, error: Exception) -> Response:
    return JSONResponse(wire.failure(str(error), "invalid_request_error", "bad_weather"), 422)


async def _refuse_path(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse(wire.failure("There is nothing here.", "invalid_request_error", "not_found"), status)
