"""The simulated provider over HTTP, called without a port."""

import asyncio
import base64
import json
import struct
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from simulator.provider.app import create_app
from simulator.provider.simulation import Simulation
from simulator.provider.weather import Weather

CHAT = {
    "model": "chat-1",
    "messages": [
        {"role": "system", "content": "Task: classify."},
        {"role": "user", "content": "Subject: Charged twice"},
    ],
    "response_format": {"type": "json_object"},
}
EMBED = {"model": "embed-1", "input": ["Charged twice", "Refund"], "dimensions": 8}


def open_client(**options: Any) -> httpx.AsyncClient:
    app = create_app(Simulation(Weather(latency_factor=0)), **options)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://provider")


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with open_client() as opened:
        yield opened


async def test_chat_when_normal_then_answers_in_the_apis_shape(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/chat/completions", json=CHAT)
    assert answer.status_code == 200
    body = answer.json()
    assert json.loads(body["choices"][0]["message"]["content"]) == {"team": "billing", "priority": 1}
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"] == {"prompt_tokens": 10, "completion_tokens": 9, "total_tokens": 19}
    assert answer.headers["x-ratelimit-limit-requests"] == "100"


async def test_chat_when_the_answer_is_longer_than_allowed_then_is_cut_off(client: httpx.AsyncClient) -> None:
    choice = (await client.post("/v1/chat/completions", json=CHAT | {"max_tokens": 2})).json()["choices"][0]
    assert choice["message"]["content"] == '{"team":'
    assert choice["finish_reason"] == "length"


async def test_embeddings_then_come_as_numbers_or_as_base64_on_demand(client: httpx.AsyncClient) -> None:
    plain = (await client.post("/v1/embeddings", json=EMBED)).json()
    packed = (await client.post("/v1/embeddings", json=EMBED | {"encoding_format": "base64"})).json()
    assert [row["index"] for row in plain["data"]] == [0, 1]
    for row, packed_row in zip(plain["data"], packed["data"], strict=True):
        unpacked = struct.unpack("<8f", base64.b64decode(packed_row["embedding"]))
        assert unpacked == pytest.approx(row["embedding"], abs=1e-6)


async def test_call_when_malformed_then_gets_400_in_the_apis_shape(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/embeddings", json={"model": "m", "input": []})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"].startswith("input")


async def test_unknown_path_then_gets_404_in_the_apis_shape(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/models")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer secret"}, 200),
        ({"api-key": "secret"}, 200),
        ({"authorization": "Bearer sécret".encode()}, 401),
        ({}, 401),
    ],
)
async def test_key_when_one_is_set_then_calls_must_bring_it(headers: dict[str, Any], status: int) -> None:
    async with open_client(key="secret") as client:
        answer = await client.post("/v1/embeddings", json=EMBED, headers=headers)
        assert answer.status_code == status
        counted = (await client.get("/simulator/counters")).json()["calls"]
    assert counted == {"embed": {str(status): 1}}


async def test_mode_when_put_then_what_is_left_out_is_as_at_the_start(client: httpx.AsyncClient) -> None:
    await client.put("/simulator/mode", json={"mode": "outage", "rpm": 5})
    assert (await client.post("/v1/embeddings", json=EMBED)).status_code == 503
    patched = (await client.patch("/simulator/mode", json={"mode": "normal"})).json()
    assert (patched["rpm"], patched["latency_factor"]) == (5, 0)
    assert (await client.put("/simulator/mode", json={})).json()["rpm"] == 100
    assert (await client.get("/simulator/mode")).json()["mode"] == "normal"


@pytest.mark.parametrize("body", [b"", b"[]", b'{"mode": "fog"}', b'{"wind": 3}'])
async def test_mode_when_nonsense_is_put_then_is_422_and_nothing_changes(
    client: httpx.AsyncClient, body: bytes
) -> None:
    before = (await client.get("/simulator/mode")).json()
    answer = await client.put("/simulator/mode", content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_weather")
    assert (await client.get("/simulator/mode")).json() == before


async def test_script_when_put_then_plays_once(client: httpx.AsyncClient) -> None:
    await client.put("/simulator/script", json={"turns": [{"mode": "refuse", "retry_after": " 3 "}]})
    refused, answered = [await client.post("/v1/embeddings", json=EMBED) for _ in range(2)]
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "3")
    assert answered.status_code == 200
    assert (await client.get("/simulator/script")).json() == {"turns": []}
    assert (await client.put("/simulator/script", json={"turns": {}})).status_code == 422


async def test_hints_when_two_or_not_latin_then_reach_the_client(client: httpx.AsyncClient) -> None:
    await client.put("/simulator/mode", json={"mode": "refuse", "retry_after": ["2", "٣"]})
    answer = await client.post("/v1/embeddings", json=EMBED)
    hints = [value for name, value in answer.headers.raw if name == b"retry-after"]
    assert hints == [b"2", "٣".encode()]


async def test_counters_when_calls_bear_marks_then_count_each_jobs_steps(client: httpx.AsyncClient) -> None:
    await client.post("/v1/chat/completions", json=CHAT, headers={"X-Client-Request-Id": "job-7"})
    await client.post("/v1/embeddings", json=EMBED, headers={"X-Client-Request-Id": "job-7"})
    await client.post("/v1/embeddings", json=EMBED | {"user": "job-8"})
    counters = (await client.delete("/simulator/counters")).json()
    assert counters["marks"] == {
        "job-7": {"classify": {"200": 1}, "embed": {"200": 1}},
        "job-8": {"embed": {"200": 1}},
    }
    assert (counters["total"], counters["in_flight"], counters["max_in_flight"]) == (3, 0, 1)
    assert counters["first_call_at"] <= counters["last_call_at"]
    assert (await client.get("/simulator/counters")).json()["total"] == 0


async def test_counters_when_calls_wait_then_show_the_most_at_once() -> None:
    gate = asyncio.Event()
    arrived = 0

    async def wait_at_gate(_seconds: float) -> None:
        nonlocal arrived
        arrived += 1
        if arrived == 3:
            gate.set()
        await gate.wait()

    async with open_client(sleep=wait_at_gate) as client:
        await asyncio.gather(*(client.post("/v1/embeddings", json=EMBED) for _ in range(3)))
        assert (await client.get("/simulator/counters")).json()["max_in_flight"] == 3


async def test_answer_when_times_are_set_then_is_held_back_so_long() -> None:
    slept: list[float] = []

    async def note(seconds: float) -> None:
        slept.append(seconds)

    async with open_client(sleep=note) as client:
        await client.put("/simulator/mode", json={"fixed_seconds": {"embed": 1.5}})
        await client.post("/v1/embeddings", json=EMBED)
        await client.post("/v1/chat/completions", json=CHAT)
    assert slept == [1.5, 0]


async def test_stalled_call_then_never_answers_but_is_counted(client: httpx.AsyncClient) -> None:
    await client.put("/simulator/mode", json={"mode": "stall"})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.post("/v1/embeddings", json=EMBED)
    counters = (await client.get("/simulator/counters")).json()
    assert (counters["calls"], counters["in_flight"]) == ({"embed": {"stalled": 1}}, 0)


@pytest.mark.parametrize("variant", [None, "halfway"])
async def test_dropped_call_then_ends_without_a_whole_answer(client: httpx.AsyncClient, variant: str | None) -> None:
    await client.put("/simulator/mode", json={"mode": "drop", "variant": variant})
    with pytest.raises(ConnectionResetError):
        await client.post("/v1/embeddings", json=EMBED)


async def test_reset_then_weather_and_counters_are_as_at_the_start(client: httpx.AsyncClient) -> None:
    await client.put("/simulator/mode", json={"mode": "outage"})
    await client.post("/v1/embeddings", json=EMBED)
    assert (await client.post("/simulator/reset")).json()["mode"] == "normal"
    assert (await client.get("/simulator/counters")).json()["total"] == 0
