"""HTTP functions that show what reached them, and answer in every way there is."""

import asyncio
import json
import logging
import os
import socket
import sys
import threading
import time
from typing import Any

import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
held: list[socket.socket] = []


def reply(value: Any, status: int = 200) -> func.HttpResponse:
    return func.HttpResponse(json.dumps(value), status_code=status, mimetype="application/json")


def show(name: str, req: func.HttpRequest) -> func.HttpResponse:
    seen = {
        "function": name,
        "method": req.method,
        "url": req.url,
        "headers": dict(req.headers),
        "params": dict(req.params),
        "route": dict(req.route_params),
        "body": req.get_body().decode(),
    }
    return reply(seen)


@app.route("echo/{*rest}")
async def echo(req: func.HttpRequest) -> func.HttpResponse:
    return show("echo", req)


@app.route("items/{id}", methods=["GET"])
async def a_item(req: func.HttpRequest) -> func.HttpResponse:
    return show("a_item", req)


@app.route("items/stats", methods=["GET", "POST"])
async def b_stats(req: func.HttpRequest) -> func.HttpResponse:
    return show("b_stats", req)


@app.route("pages/{number:int?}", methods=["GET"])
async def pages(req: func.HttpRequest) -> func.HttpResponse:
    return show("pages", req)


@app.route("guarded", methods=["GET"], auth_level=func.AuthLevel.FUNCTION)
async def guarded(req: func.HttpRequest) -> func.HttpResponse:
    return reply("in")


@app.route("ruled", methods=["GET"], auth_level=func.AuthLevel.ADMIN)
async def ruled(req: func.HttpRequest) -> func.HttpResponse:
    return reply("in")


@app.route("fails")
async def fails(req: func.HttpRequest) -> func.HttpResponse:
    raise ValueError("a secret of the app")


@app.route("text", methods=["POST"])
def text(req: func.HttpRequest) -> str:
    return req.get_body().decode()


@app.route("odd/{kind}")
def odd(req: func.HttpRequest):  # type: ignore[no-untyped-def] # what it returns is what the test is about
    return {
        "nothing": None,
        "dict": {"a": 1},
        "umlaut": func.HttpResponse("x", headers={"X-Name": "Käthe"}),
        "full_204": func.HttpResponse("x", status_code=204),
        "empty_204": func.HttpResponse(status_code=204),
        "cookie": func.HttpResponse("x", headers={"Set-Cookie": "a=1; Path=/; HttpOnly"}),
    }[req.route_params["kind"]]


@app.route("context")
async def context_of(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    return reply(
        {
            "invocation_id": context.invocation_id,
            "function_name": context.function_name,
            "trace_parent": context.trace_context.trace_parent,
            "retry_count": context.retry_context.retry_count,
        }
    )


@app.route("process")
def process(req: func.HttpRequest) -> func.HttpResponse:
    """Where the app finds itself."""
    return reply(
        {
            "pid": os.getpid(),
            "thread": threading.current_thread() is threading.main_thread(),
            "folder": os.getcwd(),
            "path": sys.path,
            "environment": dict(os.environ),
        }
    )


@app.route("logs")
async def logs(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    logging.getLogger("app.module").warning("from the run")
    logging.debug("too fine to be seen")

    def speak(text: str, run_id: str | None) -> None:
        context.thread_local_storage.invocation_id = run_id  # type: ignore[attr-defined] # typed as a class
        logging.info(text)

    for text, run_id in (("thread with id", context.invocation_id), ("thread without id", None)):
        thread = threading.Thread(target=speak, args=(text, run_id))
        thread.start()
        thread.join()
    print("from print")
    print("an error on stderr", file=sys.stderr)
    return reply("said")


@app.route("sleep/{seconds}")
async def sleep(req: func.HttpRequest) -> func.HttpResponse:
    await asyncio.sleep(float(req.route_params["seconds"]))
    return reply("slept")


@app.route("block/{seconds}")
def block(req: func.HttpRequest) -> func.HttpResponse:
    time.sleep(float(req.route_params["seconds"]))
    return reply("blocked")


@app.route("block-loop/{seconds}")
async def block_loop(req: func.HttpRequest) -> func.HttpResponse:
    time.sleep(float(req.route_params["seconds"]))  # noqa: ASYNC251 # the mistake that the test is about
    return reply("blocked")


@app.route("exit/{code:int}")
async def leave(req: func.HttpRequest) -> func.HttpResponse:
    sys.exit(int(req.route_params["code"]))


@app.route("exit-in-thread/{code:int}")
def leave_from_thread(req: func.HttpRequest) -> func.HttpResponse:
    sys.exit(int(req.route_params["code"]))


@app.route("hold/{port:int}")
async def hold(req: func.HttpRequest) -> func.HttpResponse:
    """Keep a connection to the test for as long as this process lives."""
    held.append(socket.create_connection(("127.0.0.1", int(req.route_params["port"]))))
    return reply(os.getpid())


@app.route("cancelled")
async def let_a_cancellation_out(req: func.HttpRequest) -> func.HttpResponse:
    raise asyncio.CancelledError


@app.route("hidden", methods=["GET"])
async def switched_off(req: func.HttpRequest) -> func.HttpResponse:
    return reply("still here")
