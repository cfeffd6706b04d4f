"""The simulated provider as a process of its own: what only a real connection can show."""

import os
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

EMBED = {"model": "embed-1", "input": "Charged twice", "dimensions": 8}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "simulator.provider", "--port", "0"],
        env={**os.environ, "PROVIDER_SIM_LATENCY_FACTOR": "0"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    with process, process.stdout:
        # provider: http://127.0.0.1:40000/v1 (normal, …)
        yield process.stdout.readline().split()[1].removesuffix("/v1")
        process.terminate()


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=10) as opened:
        opened.post("/simulator/reset")
        yield opened


def test_call_when_normal_then_is_answered(client: httpx.Client) -> None:
    assert client.post("/v1/embeddings", json=EMBED).status_code == 200


def test_call_when_dropped_then_the_connection_ends_without_an_answer(client: httpx.Client) -> None:
    client.put("/simulator/mode", json={"mode": "drop"})
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        client.post("/v1/embeddings", json=EMBED)


def test_call_when_dropped_halfway_then_the_answer_breaks_off(client: httpx.Client) -> None:
    client.put("/simulator/mode", json={"mode": "drop", "variant": "halfway"})
    with pytest.raises(httpx.RemoteProtocolError, match="complete message body"):
        client.post("/v1/embeddings", json=EMBED)


def test_call_when_stalled_then_only_the_clients_patience_ends_it(client: httpx.Client) -> None:
    client.put("/simulator/mode", json={"mode": "stall"})
    with pytest.raises(httpx.ReadTimeout):
        client.post("/v1/embeddings", json=EMBED, timeout=0.2)
    assert client.get("/simulator/counters").json()["calls"] == {"embed": {"stalled": 1}}


def test_start_when_a_setting_is_wrong_then_says_which_and_ends() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "simulator.provider", "--port", "0"],
        env={**os.environ, "PROVIDER_SIM_RPM": "many"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("provider: PROVIDER_SIM_RPM: ")
