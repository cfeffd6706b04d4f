"""What becomes of runs and host when a worker dies or a run takes too long (functions-host A10, A11)."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.host.running_host import RunningHost
from tests.host.worker_watch import watch_worker


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


def get_at_once(host: RunningHost, path: str) -> httpx.Response:
    """A request on a connection of its own, so that another one may hang meanwhile."""
    return httpx.get(str(host.client.base_url.join(path)), timeout=20)


def test_worker_when_a_function_ends_it_then_all_its_runs_fail_and_the_next_ones_run(
    threads: ThreadPoolExecutor,
) -> None:
    with RunningHost("http") as host:
        for deaths, path in enumerate(("/v1/exit/3", "/v1/exit-in-thread/3"), 1):
            with watch_worker(host) as worker:
                neighbour = threads.submit(get_at_once, host, "/v1/sleep/15")
                host.wait_for("Executing 'Functions.sleep'", times=deaths)
                assert host.get(path).status_code == 500
                assert neighbour.result().status_code == 500
                worker.wait_until_gone()
            host.wait_for("Host.WorkerPool: python exited with code 3 (0x3)", times=deaths)
            assert host.get("/v1/process").json()["pid"] != worker.pid


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a Windows process has no signals")
def test_worker_when_killed_too_often_then_the_host_gives_up() -> None:
    with RunningHost("http") as host:
        for deaths in range(1, 5):
            os.kill(host.get("/v1/process").json()["pid"], signal.SIGKILL)
            host.wait_for("Host.WorkerPool: python exited with code 137 (0x89)", times=deaths)
        assert host.wait() == 1
        assert "Exceeded language worker restart retry count for runtime:python." in host.console


def test_function_timeout_when_exceeded_then_the_whole_worker_is_replaced(threads: ThreadPoolExecutor) -> None:
    settings = {"AzureFunctionsJobHost__functionTimeout": "00:00:02"}
    with RunningHost("http", settings=settings) as host, watch_worker(host) as worker:
        overdue = threads.submit(get_at_once, host, "/v1/block/15")
        host.wait_for("Executing 'Functions.block'")
        time.sleep(1)  # so that the neighbour's own time is not up
        started_at = time.monotonic()
        assert get_at_once(host, "/v1/sleep/15").status_code == 500
        assert time.monotonic() - started_at < 1.9
        worker.wait_until_gone()
        assert overdue.result().status_code == 500
        host.wait_for("Timeout value of 2 s was exceeded by function: block")
        host.wait_for("Restart of language worker process(es) completed.")
        assert host.get("/v1/process").json()["pid"] != worker.pid


def test_run_when_it_is_never_answered_then_only_function_timeout_ends_it() -> None:
    settings = {"AzureFunctionsJobHost__functionTimeout": "00:00:01"}
    with RunningHost("http", settings=settings) as host:
        for path in ("/v1/exit/0", "/v1/cancelled"):
            started_at = time.monotonic()
            assert host.get(path).status_code == 500
            assert time.monotonic() - started_at > 0.9
            assert host.get("/v1/items/1").status_code == 200


def test_workers_when_two_are_asked_for_then_runs_go_round() -> None:
    with RunningHost("http", settings={"FUNCTIONS_WORKER_PROCESS_COUNT": "2"}) as host:
        host.wait_for("Worker process started and initialized.", times=2)
        pids = [host.get("/v1/process").json()["pid"] for _ in range(4)]
        assert pids[:2] == pids[2:]
        assert len(set(pids)) == 2
