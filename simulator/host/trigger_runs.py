"""Runs that no HTTP request asked for: by a queue message, by a timer, by hand (functions-host A9, B5, C7)."""

import logging
from datetime import UTC, datetime

from simulator.host.functions import Function, QueueTrigger, TimerTrigger
from simulator.host.queue_message import QueueDelivery
from simulator.host.queue_metadata import Metadata, describe_by_hand, describe_delivery
from simulator.host.runs import Runs
from simulator.host.timer_listener import TimerFire
from simulator.host.trace import make_trace

log = logging.getLogger(__name__)

BY_HAND = "This function was programmatically called via the host APIs."


class TriggerRuns:
    """Turns what triggers say into runs. None of them raises."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def run_message(self, function: Function, queue: str, is_binary: bool, delivery: QueueDelivery) -> bool:
        """Run for a message; true for success, which lets the listener delete it."""
        logging.getLogger(f"Function.{function.name}").info(
            "Trigger Details: MessageId: %s, DequeueCount: %d, InsertedOn: %s",
            delivery.id,
            delivery.dequeue_count,
            delivery.inserted_at.isoformat(),
        )
        reason = f"New queue message detected on '{queue}'."
        metadata = describe_delivery(delivery)
        return await self._run_queue(function, is_binary, reason, delivery.text, metadata)

    async def run_timer(self, function: Function, fire: TimerFire) -> None:
        reason = f"Timer fired at {datetime.now(UTC).isoformat()}"
        await self._runs.run(function.name, reason, _head("timerTrigger"), fire.to_json().encode())

    async def run_by_hand(self, function: Function, text: str) -> None:
        """Run as the admin API does: a queue function gets `text` as its body, a timer function ignores it."""
        match function.trigger:
            case QueueTrigger() as trigger:
                await self._run_queue(function, trigger.is_binary, BY_HAND, text, describe_by_hand(text))
            case TimerTrigger():
                fire = TimerFire(past_due=False, schedule_status=None)
                await self._runs.run(function.name, BY_HAND, _head("timerTrigger"), fire.to_json().encode())
            case _:
                log.error("Function '%s' takes HTTP requests: call it by its route", function.name)

    async def _run_queue(self, function: Function, is_binary: bool, reason: str, text: str, metadata: Metadata) -> bool:
        head = {**_head("queueTrigger"), "is_binary": is_binary, "metadata": metadata}
        outcome = await self._runs.run(function.name, reason, head, text.encode())
        return outcome.succeeded


def _head(trigger: str) -> dict[str, object]:
    return {"trigger": trigger, "trace": make_trace()}
