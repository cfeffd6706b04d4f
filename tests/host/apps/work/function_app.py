"""Queue and timer functions that do what they are told and say what they were given.

A body is `{"tag": …, "sleep": seconds, "then": "fail" | "exit" | "return" | "signal", …}`.
"""

import asyncio
import json
import logging
import os
import signal

import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
stop_noticed = asyncio.Event()


@app.queue_trigger(arg_name="msg", queue_name="%QUEUE%", connection="JobsQueue")
async def work(msg: func.QueueMessage, context: func.Context) -> object:
    order = json.loads(msg.get_body())
    given = {
        "id": msg.id,
        "count": msg.dequeue_count,
        "inserted": str(msg.insertion_time),
        "expires": str(msg.expiration_time),
        "visible": str(msg.time_next_visible),
        "has_receipt": bool(msg.pop_receipt),
        "pid": os.getpid(),
    }
    logging.info("begun %s %s", order["tag"], json.dumps(given))
    try:
        await asyncio.sleep(order.get("sleep", 0))
        return do(order.get("then"))
    finally:
        logging.info("left %s", order["tag"])


def do(order: str | None) -> object:
    match order:
        case "fail":
            raise RuntimeError("told to fail")
        case "exit":
            os._exit(3)
        case "return":
            return "something"
        case _:
            return None


@app.route("watch-for-stop")
async def watch_for_stop(req: func.HttpRequest) -> func.HttpResponse:
    """Answer when the process has been told of the stop, or after 5 s."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop_noticed.set)
    logging.info("watching")
    try:
        async with asyncio.timeout(5):
            await stop_noticed.wait()
    except TimeoutError:
        return func.HttpResponse("nothing came")
    return func.HttpResponse("SIGTERM")


@app.route("forward", methods=["POST"])
@app.queue_output(arg_name="out", queue_name="%QUEUE%", connection="JobsQueue")
async def forward(req: func.HttpRequest, out: func.Out[str]) -> func.HttpResponse:
    out.set(req.get_body().decode())
    return func.HttpResponse(status_code=202)


@app.timer_trigger(arg_name="timer", schedule="%TICK%")
def tick(timer: func.TimerRequest) -> None:
    status = timer.schedule_status  # type: ignore[attr-defined] # only what the worker hands over has it
    logging.info("tick, past due: %s, status: %s", timer.past_due, status)
