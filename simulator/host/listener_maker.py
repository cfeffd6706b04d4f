"""From queue and timer functions to their listeners: names resolved, clients opened (functions-host A, B, D8)."""

import os
from collections.abc import Iterable
from functools import partial

from simulator.host.functions import Function, InvalidFunctions, QueueTrigger, TimerTrigger
from simulator.host.host_json import HostJson
from simulator.host.listeners import Listener
from simulator.host.names import resolve_placeholders
from simulator.host.queue_listener import QueueListener
from simulator.host.queue_output import QueueWriter
from simulator.host.queue_settings import QueueSettings, QueueTimes
from simulator.host.queue_storage import QueueStorage
from simulator.host.queue_wakeups import QueueWakeups
from simulator.host.schedule_status import ScheduleStatus
from simulator.host.settings import Settings
from simulator.host.singleton import Singleton
from simulator.host.storage import Storage
from simulator.host.timer_listener import TimerListener
from simulator.host.trigger_runs import TriggerRuns


class ListenerMaker:
    """Makes the listeners of one host. Raises ValueError for host.json's queue settings, if they are wrong."""

    def __init__(self, storage: Storage, settings: Settings, host_json: HostJson, host_id: str) -> None:
        self._storage = storage
        self._settings = settings
        self._host_id = host_id
        self._is_development = (settings.find("AZURE_FUNCTIONS_ENVIRONMENT") or "").lower() == "development"
        self._queues = QueueSettings.from_host_json(
            host_json.tree, cores=count_cores(settings), development=self._is_development
        )
        self._wakeups = QueueWakeups()

    def make_all(self, functions: Iterable[Function], runs: TriggerRuns) -> list[Listener]:
        """The listeners of all that are enabled. Raises InvalidFunctions."""
        made, errors = [], {}
        for function in functions:
            try:
                if not function.is_disabled and (listener := self._make(function, runs)):
                    made.append(listener)
            except ValueError as error:
                errors[function.name] = str(error)
        if errors:
            raise InvalidFunctions(errors)
        return made

    def make_writers(self, function: Function) -> dict[str, QueueWriter]:
        """The queue outputs of a function, by name. Raises InvalidFunctions."""
        try:
            return {
                output.name: QueueWriter(
                    QueueStorage(self._storage.open_queue(output.queue_name, output.connection), QueueTimes()),
                    self._queues.message_encoding,
                )
                for output in function.outputs
            }
        except ValueError as error:
            raise InvalidFunctions({function.name: str(error)}) from error

    def _make(self, function: Function, runs: TriggerRuns) -> Listener | None:
        match function.trigger:
            case QueueTrigger() as trigger:
                return self._make_queue(function, trigger, runs)
            case TimerTrigger() as trigger:
                return self._make_timer(function, trigger, runs)
            case _:
                return None

    def _make_queue(self, function: Function, trigger: QueueTrigger, runs: TriggerRuns) -> QueueListener:
        queue = self._storage.open_queue(trigger.queue_name, trigger.connection)
        return QueueListener(
            queue,
            self._storage.open_poison_queue(queue.queue_name, trigger.connection),
            self._queues,
            partial(runs.run_message, function, queue.queue_name, trigger.is_binary),
            function.name,
            wakeups=self._wakeups,
        )

    def _make_timer(self, function: Function, trigger: TimerTrigger, runs: TriggerRuns) -> TimerListener:
        hosts = self._storage.hosts_container()
        return TimerListener(
            function.name,
            resolve_placeholders(trigger.schedule, self._settings),
            partial(runs.run_timer, function),
            Singleton(hosts, self._host_id, function.name),
            ScheduleStatus(hosts, self._host_id, function.name),
            use_monitor=trigger.use_monitor,
            run_on_startup=trigger.run_on_startup,
            development=self._is_development,
        )


def count_cores(settings: Settings) -> int:
    """What newBatchThreshold's default counts with: 1 on the classic Consumption plan (A3)."""
    is_consumption = (settings.find("WEBSITE_SKU") or "").lower() == "dynamic"
    return 1 if is_consumption else os.cpu_count() or 1
