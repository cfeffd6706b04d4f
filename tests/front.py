"""The app's HTTP side without a host: requests go to the functions as the host would hand them over."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import azure.functions as func
from azure.functions.decorators.function_app import Function

import function_app
from shared.api import openapi

#: The context of a host that traces nothing.
NO_SPAN = SimpleNamespace(trace_context=SimpleNamespace(trace_parent=""))


@functools.cache
def functions() -> tuple[Function, ...]:
    """Every function of the app; the library lets itself be asked only once a process."""
    return tuple(function_app.app.get_functions())


def trigger_of(function: Function) -> dict[str, Any]:
    """The trigger's binding as the host reads it."""
    trigger = function.get_trigger()
    assert trigger is not None, f"{function.get_function_name()} has no trigger"
    binding: dict[str, Any] = trigger.get_dict_repr()
    return binding


async def fire(name: str, argument: object) -> None:
    """Call the function of that name as its trigger does, with its one argument."""
    [function] = [function for function in functions() if function.get_function_name() == name]
    call = function.get_user_function()
    await call(argument, **context_of(call))


def context_of(function: Callable[..., Any]) -> dict[str, Any]:
    """What the host gives a function beside its trigger, if it asks for it."""
    return {"context": NO_SPAN} if "context" in inspect.signature(function).parameters else {}


@dataclass(frozen=True)
class Route:
    """One HTTP function; `methods` empty = all."""

    name: str
    template: str
    methods: frozenset[str]
    auth_level: str
    function: Any

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        text = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.template.strip("/")))
        return re.compile(re.sub(r"\\\{\\\*(\w+)\\\}", r"(?P<\1>.*)", text), re.IGNORECASE)


@functools.cache
def routes() -> tuple[Route, ...]:
    """All routes in the order in which the host tries them: by function name."""
    found = []
    for function in functions():
        trigger = trigger_of(function)
        if trigger["type"] == "httpTrigger":
            found.append(
                Route(
                    name=str(function.get_function_name()),
                    template=str(trigger["route"]),
                    methods=frozenset(str(method.value) for method in trigger.get("methods", ())),
                    auth_level=str(trigger["authLevel"].value),
                    function=function.get_user_function(),
                )
            )
    return tuple(sorted(found, key=lambda route: route.name))


@dataclass(frozen=True)
class Answer:
    """What came back; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The error of an answer in the envelope of the API, whole and with its type."""
        answer = self.json()
        assert set(answer) == {"error"}, answer
        error: dict[str, Any] = answer["error"]
        assert set(error) - {"fields"} == {"code", "message", "request_id"}, error
        assert ("fields" in error) == (error["code"] == "validation_error"), error
        assert error["request_id"] == self.headers["x-request-id"]
        assert self.headers["content-type"].startswith("application/json")
        return error

    @property
    def fields(self) -> set[str]:
        """The names of the fields that a 422 complains about."""
        return {problem["field"] for problem in self.error.get("fields", ())}


class Front:
    """A client of the app's HTTP functions."""

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.send("GET", path, b"", headers or {})

    async def post(self, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Answer:
        """POST a value as JSON; None = without a body."""
        return await self._send_json("POST", path, body, headers or {})

    async def put(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> Answer:
        return await self._send_json("PUT", path, body, headers or {})

    async def send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Any request; `path` with its query, percent-encoded."""
        parts = urlsplit(path)
        for route in routes():
            match = route.pattern.fullmatch(unquote(parts.path).removeprefix("/"))
            if match and (not route.methods or method in route.methods):
                request = func.HttpRequest(
                    method,
                    f"http://localhost{path}",
                    headers=headers,
                    params=dict(parse_qsl(parts.query)),  # the host drops those without a value
                    route_params=match.groupdict(),
                    body=body,
                )
                # As the host does it, in a context of its own: what a request notes there ends with it.
                answer = _read(await asyncio.create_task(route.function(request, **context_of(route.function))))
                assert _is_described(route, method, answer.status), f"{method} {route.template}: {answer}"
                return answer
        raise AssertionError(f"no function takes {method} {path}: the last one must take everything")

    async def _send_json(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> Answer:
        raw = b"" if body is None else json.dumps(body).encode()
        typed = {} if body is None else {"Content-Type": "application/json"}
        return await self.send(method, path, raw, {**typed, **headers})


def _is_described(route: Route, method: str, status: int) -> bool:
    """Whether the API's document tells of this answer; a route it does not have may answer anything."""
    operation = openapi.document()["paths"].get(f"/{route.template}", {}).get(method.lower())
    return operation is None or str(status) in operation["responses"] or status == 500


def _read(response: func.HttpResponse) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    headers.setdefault("content-type", response.mimetype)
    return Answer(response.status_code, headers, response.get_body())
