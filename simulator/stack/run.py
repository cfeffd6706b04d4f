"""`make run`: the whole system on this machine, one ticket sent through it, then up until Ctrl-C."""

import json
import signal
import time

import httpx

from simulator.stack.local_stack import LocalStack
from simulator.stack.lock import only_one
from simulator.stack.log_tail import LogTail
from simulator.stack.settings import StackSettings
from simulator.stack.supervisor import Supervisor
from simulator.stack.ticket_walk import EXAMPLE, walk_ticket

SHOWN_LOGS = ("functions", "provider")
LOOK_EVERY_S = 0.2


def run(settings: StackSettings) -> None:
    """Start everything, show one ticket's way, stay until interrupted, and stop every child on the way out."""
    _end_like_ctrl_c("SIGINT", "SIGTERM", "SIGHUP")
    busy = f"a copy already runs on {settings.local_dir}: stop it, or set LOCAL_DIR and other ports"
    began_at = time.monotonic()
    try:
        with only_one(settings.local_dir / "run.lock", refusal=busy), Supervisor() as supervisor:
            stack = LocalStack(settings, supervisor)
            try:
                stack.start()
                print(f"\nUp in {time.monotonic() - began_at:.1f} s. One ticket's way through it:")
                with httpx.Client(base_url=stack.functions_url, timeout=10) as client:
                    walk_ticket(client)
                print(_invitation(stack))
                _show_logs([LogTail(name, stack.logs / f"{name}.log") for name in SHOWN_LOGS])
            except KeyboardInterrupt:
                print("\nStopping everything …")
                raise
    except KeyboardInterrupt:
        print("Stopped.")


def _end_like_ctrl_c(*signals: str) -> None:
    # SIGINT too: a shell that starts us in the background has it ignored.
    for name in signals:
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), signal.default_int_handler)


def _invitation(stack: LocalStack) -> str:
    ticket = json.dumps({"customer_id": EXAMPLE["customer_id"], "subject": "Where is my parcel?"})
    return "\n".join(
        (
            "",
            f"Look:  {stack.functions_url}/dashboard (and /docs for the API)",
            "",
            "Try it:",
            f"  curl -i {stack.functions_url}/v1/tickets -H 'Content-Type: application/json' -d '{ticket}'",
            "",
            f"Logs are in {stack.logs}. Ctrl-C stops everything.",
        )
    )


def _show_logs(tails: list[LogTail]) -> None:
    while True:
        for tail in tails:
            for line in tail.new_lines():
                print(line)
        time.sleep(LOOK_EVERY_S)
