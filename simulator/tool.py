"""What the small tools at the keyboard share: the app's address, its key, and errors of one line."""

import argparse
import asyncio
import math
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import httpx


class ToolError(Exception):
    """The tool cannot go on; the message is for the person at the keyboard."""


def add_address(parser: argparse.ArgumentParser) -> None:
    """Let the tool be told where the app is, and the function key it needs in Azure."""
    parser.add_argument("--url", default="http://127.0.0.1:7071", help="the app's address (%(default)s)")
    parser.add_argument("--key", default=os.environ.get("FUNCTIONS_KEY"), help="function key, needed in Azure")


def open_client(asked: argparse.Namespace) -> httpx.AsyncClient:
    """A client of the app at `asked.url` that opens as many connections as there are requests."""
    return httpx.AsyncClient(
        base_url=asked.url,
        headers={"x-functions-key": asked.key} if asked.key else {},
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
        timeout=30,
    )


async def fetch(client: httpx.AsyncClient, path: str, **query: str | int) -> Any:
    """GET `path` and return its JSON. Raises ToolError for any other answer than 200, and for none."""
    try:
        answer = await client.get(path, params=query)
    except httpx.InvalidURL as error:
        raise ToolError(f"{client.base_url} is no address: {error}") from error
    except httpx.RequestError as error:
        raise ToolError(
            f"nobody answers at {client.base_url} ({type(error).__name__}); does the stack run? (make run)"
        ) from error
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        raise ToolError("the app wants another function key: give it with --key")
    if answer.status_code != httpx.codes.OK:
        raise ToolError(f"GET {path} was answered {answer.status_code}: {describe(answer)}")
    return answer.json()


def describe(answer: httpx.Response) -> str:
    """The error code of an answer that has one, otherwise its reason phrase."""
    try:
        return str(answer.json()["error"]["code"])
    except (ValueError, LookupError, TypeError):
        return answer.reason_phrase or "no reason given"


def positive(text: str) -> float:
    """An argument above 0. Raises ValueError, which argparse turns into a message."""
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError(text)
    return value


def share(text: str) -> float:
    """An argument from 0 to 1. Raises ValueError, which argparse turns into a message."""
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError(text)
    return value


def run_tool(
    name: str, work: Callable[[argparse.Namespace, httpx.AsyncClient], Awaitable[int]], asked: argparse.Namespace
) -> int:
    """Do the work with a client of the app; a ToolError is said on one line, and Ctrl-C is a way to end."""

    async def work_with_client() -> int:
        async with open_client(asked) as client:
            return await work(asked, client)

    try:
        return asyncio.run(work_with_client())
    except ToolError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
