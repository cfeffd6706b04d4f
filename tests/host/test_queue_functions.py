"""Queue and timer functions in a host process on real storage (functions-host A6, A8-A12, B5, C7, D4)."""

import base64
import json
import re
import signal
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import pytest
from azure.storage.queue import QueueClient

from simulator.stack.azurite import Azurite
from simulator.stack.waiting import wait_until
from tests.host.running_host import DEADLINE_S, RunningHost

NEVER = "0 0 3 1 1 *"


class Workplace:
    """A queue of this test's own, and hosts of the `work` app that poll it."""

    def __init__(self, connection_string: str) -> None:
        name = f"work-{uuid.uuid4().hex[:12]}"
        self.queue = QueueClient.from_connection_string(connection_string, name)
        self.poison = QueueClient.from_connection_string(connection_string, f"{name}-poison")
        self.settings = {
            "QUEUE": name,
            "JobsQueue": connection_string,
            "AzureWebJobsStorage": connection_string,
            "AzureFunctionsWebHost__hostid": name,
            "TICK": NEVER,
        }

    def __enter__(self) -> Self:
        self.queue.create_queue()
        return self

    def __exit__(self, *_: object) -> None:
        self.queue.close()
        self.poison.close()

    def host(self, *arguments: str, **settings: str) -> RunningHost:
        return RunningHost("work", *arguments, settings={**self.settings, **settings})

    def put(self, **order: Any) -> None:
        self.queue.send_message(base64.b64encode(json.dumps(order).encode()).decode())

    def wait_for_poison(self, tag: str) -> None:
        """Wait until the message with this tag has been moved to the poison queue."""

        def has_come() -> bool:
            messages = self.poison.receive_messages() if exists(self.poison) else []
            return tag in [json.loads(base64.b64decode(message.content))["tag"] for message in messages]

        wait_until(has_come, deadline_s=DEADLINE_S, what=f"'{tag}' in the poison queue")

    def wait_until_empty(self) -> None:
        def is_empty() -> bool:
            return self.queue.get_queue_properties().approximate_message_count == 0

        wait_until(is_empty, deadline_s=DEADLINE_S, what="the queue is empty")


def what_was_given(host: RunningHost, tag: str) -> dict[str, Any]:
    """What the function said of the message with this tag."""
    given: dict[str, Any] = json.loads(host.console.split(f"begun {tag} ")[1].splitlines()[0])
    return given


def exists(queue: QueueClient) -> bool:
    try:
        queue.get_queue_properties()
    except Exception as error:
        if getattr(error, "status_code", None) == 404:
            return False
        raise
    return True


@pytest.fixture
def place(azurite: Azurite) -> Iterator[Workplace]:
    """For a test that wants a host of its own."""
    with Workplace(azurite.connection_string) as workplace:
        yield workplace


@pytest.fixture(scope="module")
def common(azurite: Azurite) -> Iterator[tuple[Workplace, RunningHost]]:
    """A host that several tests put messages before."""
    with Workplace(azurite.connection_string) as workplace, workplace.host() as host:
        yield workplace, host


def test_message_when_its_run_succeeds_then_it_is_deleted(common: tuple[Workplace, RunningHost]) -> None:
    place, host = common
    place.put(tag="one")
    host.wait_for("begun one")
    place.wait_until_empty()
    given = what_was_given(host, "one")
    assert (given["count"], given["has_receipt"]) == (1, True)
    assert given["inserted"].endswith("+00:00")


@pytest.mark.parametrize("then", ["fail", "return"])
def test_message_when_every_run_fails_then_it_is_poison_after_the_last_one(
    common: tuple[Workplace, RunningHost], then: str
) -> None:
    place, host = common
    place.put(tag=then, then=then)
    place.wait_for_poison(then)
    place.wait_until_empty()
    assert host.console.count(f"begun {then} ") == 3


def test_message_when_its_body_has_the_metadatas_names_then_they_win(common: tuple[Workplace, RunningHost]) -> None:
    place, host = common
    place.put(tag="forged", id="mine", DEQUEUECOUNT="7")
    host.wait_for("begun forged")
    given = what_was_given(host, "forged")
    assert (given["id"], given["count"]) == ("mine", 7)


def test_output_when_it_is_json_then_each_element_becomes_a_message(common: tuple[Workplace, RunningHost]) -> None:
    _, host = common
    orders = [{"tag": "first"}, {"tag": "second"}]
    assert host.client.post("/forward", json=orders).status_code == 202
    host.wait_for("begun first")
    host.wait_for("begun second")
    assert host.client.post("/forward", content="{no json}").status_code == 500
    host.wait_for("the output looks like JSON and is not")


def test_drain_when_asked_for_then_polling_stops_until_it_is_resumed(common: tuple[Workplace, RunningHost]) -> None:
    place, host = common
    place.put(tag="running", sleep=1)
    host.wait_for("begun running")
    assert host.client.post("/admin/host/drain").status_code == 202
    assert host.get("/admin/host/drain/status").json()["state"] == "InProgress"
    place.put(tag="later")
    host.wait_for("left running")
    wait_until(
        lambda: host.get("/admin/host/drain/status").json()["state"] == "Completed",
        deadline_s=DEADLINE_S,
        what="the drain is complete",
    )
    assert "begun later" not in host.console
    assert host.client.post("/admin/host/resume").json() == {"state": "Running"}
    host.wait_for("begun later")


def test_message_when_its_worker_dies_then_it_and_its_neighbours_come_again_at_once(place: Workplace) -> None:
    with place.host() as host:
        place.put(tag="neighbour", sleep=30)
        host.wait_for("begun neighbour")
        place.put(tag="killer", then="exit")
        place.wait_for_poison("killer")
        assert host.console.count("begun killer") == 3
        assert host.console.count("Host.WorkerPool: python exited with code 3 (0x3)") == 3
        assert host.console.count("begun neighbour") > 1
        assert "left neighbour" not in host.console


def test_message_when_its_run_is_too_long_then_it_is_released_without_a_word_to_the_function(
    place: Workplace,
) -> None:
    with place.host(AzureFunctionsJobHost__functionTimeout="00:00:01") as host:
        place.put(tag="long", sleep=30)
        host.wait_for("begun long", times=2)
        assert "left long" not in host.console


def test_stop_when_runs_go_on_then_the_app_is_told_and_only_what_ends_in_time_is_deleted(place: Workplace) -> None:
    with place.host() as host, ThreadPoolExecutor() as threads:
        place.put(tag="short", sleep=1)
        place.put(tag="long", sleep=30)
        host.wait_for("begun long")
        host.wait_for("begun short")
        waiting = threads.submit(host.get, "/watch-for-stop")
        host.wait_for("Function.watch_for_stop.User: watching")
        host.tell(signal.SIGTERM)
        assert waiting.result().text == "SIGTERM"
        assert host.wait() == 0
        assert "left short" in host.console
        assert "left long" not in host.console
    assert place.queue.get_queue_properties().approximate_message_count == 1
    assert list(place.queue.receive_messages()) == []


def test_function_when_switched_off_then_nothing_sets_it_off_but_a_call_by_hand(place: Workplace) -> None:
    with place.host(**{"AzureWebJobs.work.Disabled": "1", "TICK": "* * * * * *"}) as host:
        place.put(tag="queued")
        host.wait_for("tick, past due: False, status: {}")
        body = json.dumps({"tag": "by hand"})
        assert host.client.post("/admin/functions/Work", json={"input": body}).status_code == 202
        host.wait_for("begun by hand")
        given = what_was_given(host, "by hand")
        assert (given["id"], given["count"], given["has_receipt"]) == (None, 0, False)
        assert "begun queued" not in host.console
        assert host.client.post("/admin/functions/nobody", json={"input": ""}).status_code == 404
        assert host.client.post("/admin/functions/work").status_code == 400


def test_hosts_when_two_share_a_queue_then_each_message_is_run_once(place: Workplace) -> None:
    with place.host() as one, place.host() as other:
        tags = [f"tag{number:02}" for number in range(30)]
        for tag in tags:
            place.put(tag=tag, sleep=0.1)
        place.wait_until_empty()
        runs = [len(re.findall("begun tag", host.console)) for host in (one, other)]
        assert sum(runs) == len(tags)
        assert min(runs) > 0


def test_host_when_storage_refuses_it_then_it_ends_itself_with_1(place: Workplace) -> None:
    refused = re.sub("AccountKey=[^;]*", "AccountKey=bm8=", place.settings["JobsQueue"])
    with place.host(JobsQueue=refused) as host:
        assert host.wait() == 1
        assert "An unhandled exception has occurred. Host is shutting down." in host.console
