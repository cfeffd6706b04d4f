"""How a host goes down, politely and otherwise (functions-host A12)."""

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.host.running_host import RunningHost
from tests.host.worker_watch import watch_worker

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a Windows process has no signals")

STOP_S, DRAIN_S = 2.0, 0.5  # as running_host sets them


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


def test_stop_when_a_run_ends_in_time_then_it_is_answered(threads: ThreadPoolExecutor) -> None:
    with RunningHost("http") as host:
        running = threads.submit(host.get, "/v1/sleep/0.7")
        host.wait_for("Executing 'Functions.sleep'")
        host.tell(signal.SIGTERM)
        assert running.result().status_code == 200
        assert host.wait() == 0


def test_stop_when_a_run_does_not_end_then_it_is_cut_and_nothing_is_left(threads: ThreadPoolExecutor) -> None:
    with RunningHost("http") as host, watch_worker(host) as worker:
        running = threads.submit(host.get, "/v1/block/30")
        host.wait_for("Executing 'Functions.block'")
        started_at = time.monotonic()
        host.tell(signal.SIGINT)
        assert host.wait() == 0
        assert STOP_S + DRAIN_S <= time.monotonic() - started_at < STOP_S + DRAIN_S + 2
        with pytest.raises(httpx.TransportError):
            running.result()
        worker.wait_until_gone()
        assert "Draining timed out with 1 runs unfinished" in host.console


def test_stop_when_a_second_signal_comes_then_the_host_ends_at_once(threads: ThreadPoolExecutor) -> None:
    with RunningHost("http", settings={"SIMULATOR_HOST_STOP_SECONDS": "30"}) as host, watch_worker(host) as worker:
        running = threads.submit(host.get, "/v1/sleep/30")
        host.wait_for("Executing 'Functions.sleep'")
        host.tell(signal.SIGTERM)
        host.wait_for("Stopping the host")
        host.tell(signal.SIGTERM)
        assert host.wait() == 128 + signal.SIGTERM
        worker.wait_until_gone()
        assert running.exception() is not None


def test_worker_when_its_host_is_killed_then_it_ends_although_a_function_blocks_it() -> None:
    with RunningHost("http") as host, watch_worker(host) as worker:
        with pytest.raises(httpx.ReadTimeout):
            host.get("/v1/block-loop/30", timeout=0.5)
        host.tell(signal.SIGKILL)
        worker.wait_until_gone()
