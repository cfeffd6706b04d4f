"""Run by another Python: Microsoft's worker library indexes the app in the current folder and runs its functions.

It is spoken to as the Functions host speaks, with look-alikes of the protobuf messages. One JSON line comes out when
the app is indexed; then for each call that comes in as a line, its outcome goes out as one.
"""

import asyncio
import json
import logging
import os
import sys
from typing import Any

import azure_functions_runtime as worker  # type: ignore[import-not-found]  # only where the child runs


class Message:
    """Any protobuf message: the fields it was made of."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def WhichOneof(self, group: str) -> str | None:
        """The one of a group that is set; those who have a group here get it as their last field."""
        return next(reversed(self.__dict__), None)


class Protos:
    """The module of message types."""

    class BindingInfo(Message):
        out, inout, undefined = 1, 2, 0

    class StatusResult(Message):
        Failure, Success = 0, 1

    def __getattr__(self, name: str) -> type[Message]:
        return type(name, (Message,), {})


def typed(data: dict[str, Any]) -> Message:
    """`{"json": "{}"}` and its like as TypedData; an HTTP request's body is sent as bytes, as the host does."""
    [(kind, value)] = data.items()
    if kind == "http":
        value = Message(**value | {"body": Message(bytes=value["body"].encode())})
    return Message(**{kind: value})


def request(**parts: Message) -> Message:
    return Message(request=Message(**parts), properties={"host": "127.0.0.1", "protos": Protos()})


async def index(folder: str) -> dict[str, Message]:
    """The app's functions by name, all loaded. Raises RuntimeError with what the worker says."""
    init = Message(capabilities={}, function_app_directory=folder)
    check(await worker.worker_init_request(request(worker_init_request=init)))
    metadata = await worker.functions_metadata_request(request(functions_metadata_request=Message()))
    functions = {function.name: function for function in metadata.function_metadata_results}
    for function in functions.values():
        load = Message(function_id=function.function_id, metadata=function)
        check(await worker.function_load_request(request(function_load_request=load)))
    return functions


def check(response: Any) -> None:
    if response.result.status != Protos.StatusResult.Success:
        raise RuntimeError(response.result.exception.stack_trace)


async def invoke(function: Message, call: dict[str, Any]) -> dict[str, Any]:
    """The outcome of one run: `error` is None or what the worker tells the host."""
    [trigger] = (name for name, binding in vars(function)["bindings"].items() if binding.type.endswith("Trigger"))
    invocation = Message(
        invocation_id=call["id"],
        function_id=vars(function)["function_id"],
        input_data=[Message(name=trigger, data=typed(call["input"]))],
        trigger_metadata={name: typed(data) for name, data in call["metadata"].items()},
        trace_context=Message(trace_parent="", trace_state="", attributes={}),
        retry_context=Message(retry_count=0, max_retry_count=0, exception=None),
    )
    response = await worker.invocation_request(request(invocation_request=invocation))
    if response.result.status != Protos.StatusResult.Success:
        return {"error": response.result.exception.message, "http": None}
    http = getattr(response.return_value, "http", None)
    return {"error": None, "http": http and read_http(http)}


def read_http(http: Any) -> dict[str, Any]:
    [body] = vars(http.body).values()
    text = body.decode() if isinstance(body, bytes) else body
    return {"status": int(http.status_code), "headers": http.headers, "body": text}


async def main() -> None:
    lines_out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout = sys.stderr  # whatever the app prints is no line of ours

    def say(outcome: Any) -> None:
        print(json.dumps(outcome), file=lines_out, flush=True)

    # Where the library does not run in a test, the process around it sends every line to the host by such a handler.
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    sys.path.insert(0, os.getcwd())
    worker.start_threadpool_executor()
    functions = await index(os.getcwd())
    say({name: [json.loads(text) for text in vars(function)["raw_bindings"]] for name, function in functions.items()})
    while line := await asyncio.to_thread(sys.stdin.readline):
        call = json.loads(line)
        say(await invoke(functions[call["function"]], call))


if __name__ == "__main__":
    asyncio.run(main())
