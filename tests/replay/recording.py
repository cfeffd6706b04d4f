"""The recorded scenarios, read from tests/recordings."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from simulator.host.queue_settings import QueueSettings, QueueTimes
from tests.replay.events import Event, Got
from tests.replay.faults import read_fault
from tests.replay.scenario import Input, Scenario
from tests.replay.tags import Tags

RECORDING = Path(__file__).parents[1] / "recordings" / "recorded-listener.jsonl"
RECORDED_ON_CORES = 2

_VISIBLE = re.compile(r"visible (?:now|after stop): (?:(?P<tag>\S+) delivery (?P<count>\d+)|\[\]|0)")

# The recording shows the interval in force; what was written differs where the environment has a say (R6).
WRITTEN_POLLING_INTERVAL = {"A60": None, "ADev": None, "ADev60": 60}

# The recordings' HTTP client repeated a dropped request up to three times within milliseconds (R51).
SAME_TRY_S = 0.3


@cache
def load_scenarios() -> dict[str, Scenario]:
    """Return all scenarios by name, in the order of the recording."""
    with RECORDING.open(encoding="utf-8") as lines:
        scenarios = [_read_scenario(json.loads(line)) for line in lines]
    return {scenario.name: scenario for scenario in scenarios}


def _read_scenario(raw: dict[str, Any]) -> Scenario:
    queues = tuple(raw["settings"]["functions"])
    inputs = tuple(_read_input(entry, queues[0]) for entry in raw["input"])
    tags = Tags.read((entry.fields for entry in inputs), raw["settings"]["messageEncoding"].lower())
    exits = [entry for entry in raw["timeline"] if entry["what"] == "process exited"]
    return Scenario(
        name=raw["scenario"],
        about=raw["about"],
        settings=_read_settings(raw["scenario"], raw["settings"]),
        times=QueueTimes(),
        queues=queues,
        fault=read_fault(raw["settings"].get("fault"), inputs_at_s=[entry.at_s for entry in inputs]),
        inputs=inputs,
        timeline=tuple(_merge_repeats(_read_timeline(raw["timeline"], queues, tags))),
        exit_code=exits[-1]["code"],
        exit_at_s=exits[-1]["t"],
        tags=tags,
    )


def _read_settings(name: str, recorded: dict[str, Any]) -> QueueSettings:
    """Write the host.json that was in force, and let the settings under test read it."""
    polling = WRITTEN_POLLING_INTERVAL.get(name, recorded["maxPollingInterval"])
    queues = {
        "batchSize": recorded["batchSize"],
        "maxDequeueCount": recorded["maxDequeueCount"],
        "messageEncoding": recorded["messageEncoding"],
        "visibilityTimeout": f"00:00:{recorded['visibilityTimeout']:02}",
    }
    if polling is not None:
        queues["maxPollingInterval"] = f"00:{int(polling // 60):02}:{polling % 60:06.3f}"
    if not recorded["newBatchThresholdIsDefault"]:
        queues["newBatchThreshold"] = recorded["newBatchThreshold"]
    settings = QueueSettings.from_host_json(
        {"extensions": {"queues": queues}},
        cores=RECORDED_ON_CORES,
        development=recorded["env"] == "Development",
    )
    in_force = (settings.new_batch_threshold, settings.max_polling_interval_s)
    if in_force != (recorded["newBatchThreshold"], recorded["maxPollingInterval"]):
        raise AssertionError(f"{name}: recorded {recorded}, but host.json gives {settings}")
    return settings


def _read_input(entry: dict[str, Any], trigger_queue: str) -> Input:
    return Input(entry["t"], entry["op"], entry.get("queue", trigger_queue), entry)


def _read_timeline(entries: list[dict[str, Any]], queues: tuple[str, ...], tags: Tags) -> Iterator[Event]:
    nameless: list[str] = []
    for entry in entries:
        if entry["who"] == "function":
            # The end of a run whose body has no tag does not say which run it was; they end as they began.
            tag = tags.of_run(entry) or nameless.pop(0)
            if "text" in entry:
                nameless.append(tag)
            yield _read_run(entry, tag)
        elif entry["who"] == "observer":
            yield _read_observation(entry, queues[0])
        else:
            yield from _read_entry(entry, queues[0], tags)


def _merge_repeats(events: Iterable[Event]) -> Iterator[Event]:
    """Leave out the HTTP client's own repetitions of a dropped request."""
    last_drops: dict[tuple[str, str, str], float] = {}
    for event in events:
        key = (event.what, event.queue, event.tag)
        is_repeat = event.status == "dropped" and event.at_s - last_drops.get(key, -1.0) < SAME_TRY_S
        if event.status == "dropped":
            last_drops[key] = event.at_s
        if not is_repeat:
            yield event


def _read_run(entry: dict[str, Any], tag: str) -> Event:
    return Event(at_s=entry["t"], who="function", what=entry["what"], tag=tag, count=entry.get("dequeueCount"))


def _read_entry(entry: dict[str, Any], trigger_queue: str, tags: Tags) -> Iterator[Event]:
    text = unescape(entry["text"]) if "text" in entry else None
    injected = entry.get("injected")
    late_s = injected["slow"] if isinstance(injected, dict) else 0
    times = entry.get("times", [entry["t"]])
    if "thenEvery" in entry:
        times = [*times, entry["until"]]
    for nth, at_s in enumerate(times):
        yield Event(
            at_s=at_s,
            who=entry["who"],
            what="get" if entry["what"] == "get, nothing" else entry["what"],
            queue=entry.get("queue", trigger_queue),
            tag=tags.of_text(text) if entry["what"] == "add" and text is not None else entry.get("tag", ""),
            status=str(entry.get("status", "")),
            receipt=entry.get("receipt", ""),
            new_receipt=entry.get("newReceipt", ""),
            seconds=entry.get("visibilitytimeout", entry.get("hide")),
            count=entry.get("num"),
            has_body=entry.get("body", False),
            text=text,
            got=tuple(Got(got["tag"], got["dequeueCount"], got["receipt"]) for got in entry.get("got", [])),
            answered_at_s=at_s + late_s if late_s else None,
            follows_gap="thenEvery" in entry and nth == len(times) - 1,
        )


def _read_observation(entry: dict[str, Any], trigger_queue: str) -> Event:
    """Read one recorded observation. Only what it says is set, and only that counts in the comparison."""
    what, queue = entry["what"], entry.get("queue", trigger_queue)
    if visible := _VISIBLE.fullmatch(what):
        tag, count = visible["tag"] or "", visible["count"]
        return Event(
            at_s=entry["t"],
            who="observer",
            what="visible",
            queue=queue,
            tag=tag,
            count=int(count) if count else None,
        )
    if what == "found in poison queue":
        queue += "-poison"
    count = entry.get("dequeueCount", entry.get("count"))
    return Event(
        at_s=entry["t"],
        who="observer",
        what=what,
        queue=queue,
        tag=unescape(entry.get("tag", "")),
        text=entry.get("text"),
        count=None if count is None else int(count),
        seconds=entry.get("lifetime"),
    )
