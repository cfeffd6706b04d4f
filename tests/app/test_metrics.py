"""What the sweep and the workers measure, for alerts and the workbook."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from shared import pulse
from shared.errors import Unavailable
from shared.kinds.kind import Desk
from shared.signals import GAUGES
from shared.wiring import App
from shared.worker import Worker
from tests.db.arrows import reach
from tests.ears import Ears, Sample
from tests.kinds import kind_of
from tests.stage import Mailroom, accept, finish, seed

WORK = {"larkfield.tokens", "larkfield.step_seconds"}


def values(samples: list[Sample], name: str, **dimensions: str) -> list[float]:
    return [value for named, given, value in samples if named == f"larkfield.{name}" and given == dimensions]


@pytest.mark.settings(PROVIDER_CHAT_RPM="60")
async def test_sweep_when_the_queue_is_idle_then_a_sample_of_everything_all_the_same(app: App, ears: Ears) -> None:
    await app.sweep.run_pass()
    samples = ears.samples()
    assert {name for name, _, _ in samples} == set(GAUGES)
    assert values(samples, "oldest_queued_seconds", kind="ticket") == [0]
    assert values(samples, "oldest_queued_seconds", kind="support_report") == [0]
    assert [given for name, given, _ in samples if name == "larkfield.outbox_oldest_seconds"] == [
        {"queue": queue} for queue in ("reports", "tickets", "webhooks")
    ]
    assert values(samples, "lane_calls_available") == [60]


async def test_sweep_when_there_is_work_then_how_much_and_how_old(app: App, database_url: str, ears: Ears) -> None:
    await seed(database_url, 3)
    await reach(app.db, "dead_letter")
    await reach(app.db, "running")
    await app.db.execute("UPDATE jobs SET run_after = now() - interval '20 minutes' WHERE job_id = 1")
    await app.db.execute("UPDATE outbox SET due_at = now() - interval '10 minutes' WHERE job_id = 1")
    await app.sweep.run_pass()
    samples = ears.samples()
    assert values(samples, "queued", kind="ticket") == [3]
    assert values(samples, "running", kind="ticket") == [1]
    assert values(samples, "dead_letters") == [1]
    assert values(samples, "lane_calls_available") == []  # there is no quota
    [oldest] = values(samples, "oldest_queued_seconds", kind="ticket")
    [outbox] = values(samples, "outbox_oldest_seconds", queue="tickets")
    assert 1200 <= oldest < 1230
    assert 600 <= outbox < 630


async def test_sweep_when_the_provider_is_in_trouble_then_lane_and_breakers_tell(app: App, ears: Ears) -> None:
    await app.db.execute("UPDATE provider_lane SET paused_until = now() + interval '1 minute'")
    await app.db.execute(
        "UPDATE provider_breakers SET is_open = true, reason = 'r', opened_at = now(),"
        " retry_at = now() + interval '5 seconds' WHERE endpoint = 'embeddings'"
    )
    await app.sweep.run_pass()
    samples = ears.samples()
    assert values(samples, "lane_paused") == [1]
    assert values(samples, "breaker_open", endpoint="chat") == [0]
    assert values(samples, "breaker_open", endpoint="embeddings") == [1]


async def test_sweep_when_passes_are_kicked_one_after_the_other_then_one_sample(app: App, ears: Ears) -> None:
    for _ in range(3):
        await app.sweep.run_pass()
    assert ears.samples()
    await app.sweep.run_pass()
    assert ears.samples() == []


async def test_values_when_nobody_measures_any_more_then_they_fall_silent(app: App, ears: Ears) -> None:
    # A value that was kept would show a queue that is fine, while the timers stand still.
    await app.sweep.run_pass()
    assert values(ears.samples(), "dead_letters") == [0]
    assert ears.samples() == []


async def test_sweep_when_the_next_minute_has_come_then_another_sample(
    app: App, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "EVERY_S", 0.0)
    for _ in range(2):
        await app.sweep.run_pass()
        assert values(ears.samples(), "dead_letters") == [0]


async def test_ticket_when_done_then_its_steps_and_tokens_are_measured(
    app: App, mailroom: Mailroom, worker: Worker, ears: Ears
) -> None:
    await accept(app)
    await finish(app, mailroom, worker)
    samples = ears.samples()
    assert {name for name, _, _ in samples} == WORK
    assert [given for name, given, _ in samples if name == "larkfield.step_seconds"] == [
        {"kind": "ticket", "step": step} for step in ("classify", "draft_reply", "embed")
    ]
    assert all(value > 0 for name, _, value in samples if name == "larkfield.step_seconds")
    [tokens] = values(samples, "tokens")
    assert tokens > 100


async def test_step_when_it_fails_then_no_time_of_it_is_measured(
    app: App, mailroom: Mailroom, worker: Worker, ears: Ears
) -> None:
    async def down(desk: Desk) -> None:
        raise Unavailable("The provider answered 503.")

    await accept(app)
    await app.relay.run_pass(stay_s=0)
    [text] = await mailroom.take_texts(mailroom.tickets)
    await replace(worker, kinds=kind_of(down)).work(text)
    assert ears.samples() == []


async def test_app_when_its_process_is_to_end_then_what_it_has_to_tell_is_sent_before(app: App, ears: Ears) -> None:
    sent: list[str] = []
    app = replace(app, telemetry=replace(ears.telemetry, flush=lambda: sent.append("all")))
    await app.drain(within_s=1)
    assert sent == ["all"]


async def test_telemetry_when_its_receiver_hangs_then_nobody_waits_for_it(ears: Ears) -> None:
    answers = threading.Event()

    def hang() -> None:
        answers.wait()

    hanging = replace(ears.telemetry, flush=hang)
    began = time.monotonic()
    await hanging.send(within_s=0.05)
    answers.set()
    assert time.monotonic() - began < 2


async def test_sweep_when_nobody_listens_then_nothing_is_asked_for(app: App) -> None:
    assert app.sweep.report is None
