"""Everything that can happen to jobs, in any order: clients, passes, messages early, late and twice, workers that
stall and die, people and operators. After each step no promise is broken, and left in peace it all comes to an end.

`make test` tells the same few stories every time. For others, as many as you like:
    ANY_ORDER_STORIES=500 python -m pytest tests/app/test_any_order.py -s --timeout=36000
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, get_args

import psycopg
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from shared.api.asked import Decision, Discard, NewJob, NewTicket, Redrive
from shared.errors import Conflict, KeyReused
from shared.intake import Asked
from shared.queues.messages import StoredCopy
from simulator.stack.postgres import Postgres
from tests.conftest import EMPTY
from tests.postbox import PutFault
from tests.run_by_hand import TROUBLE
from tests.seams import LEASES_RUN_OUT
from tests.story import NAMES, POISONS, Sent, Story

T = TypeVar("T")

STORIES = int(os.environ.get("ANY_ORDER_STORIES", "0"))
FEW, STEPS = 15, 30
MANY = 4  # jobs: few enough to meet again and again
pick = st.integers(0, 7)  # which one of those there are, the newest first


class AnyOrder(RuleBasedStateMachine):
    """One story: a database, queues, one process of the app, and runs that stand at a step."""

    def __init__(self, database_url: str) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.keys: dict[str, tuple[str, int]] = {}
        self.database_url = database_url
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(EMPTY)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run(work)

    @initialize(max_attempts=st.integers(1, 2))
    def begin(self, max_attempts: int) -> None:
        self.story = self.run(Story.begin(self.database_url, max_attempts=max_attempts))
        self.ticket(None, "Charged twice")

    # Clients

    @precondition(lambda self: len(self.story.seen.jobs) < MANY)
    @rule(key=st.sampled_from([None, "key-0001", "key-0002"]), subject=st.sampled_from(["Charged twice", "Lost"]))
    def ticket(self, key: str | None, subject: str) -> None:
        new = NewTicket.model_validate({"customer_id": "C-0022", "subject": subject})
        first = self.keys.get(key or "")
        try:
            accepted, is_replay = self.run(self.story.app.intake.accept_ticket(new, Asked("r1"), key=key))
        except KeyReused:
            assert first is not None and first[0] != subject
            return
        assert is_replay == (first is not None)
        assert first in (None, (subject, accepted.job_id))
        if key:
            self.keys[key] = subject, accepted.job_id

    @precondition(lambda self: len(self.story.seen.jobs) < MANY)
    @rule(is_asked=st.booleans())
    def review(self, is_asked: bool) -> None:
        asked = {"task": "Review", "workspace_id": "team_42", "kind": "review", "require_approval": is_asked}
        self.run(self.story.app.intake.accept_job(NewJob.model_validate(asked), Asked("r2"), key=None))

    # Passes

    @rule(times=st.integers(1, 2), fault=st.sampled_from([None, None, None, *get_args(PutFault)]))
    def relay(self, times: int, fault: PutFault | None) -> None:
        self.run(self.story.relay(times=times, fault=fault))

    @rule(times=st.integers(1, 2))
    def sweep(self, times: int) -> None:
        self.run(self.story.sweep(times=times))

    @rule()
    def time_passes(self) -> None:
        self.run(self.story.let_time_pass())

    # Messages and workers

    @precondition(lambda self: self.story.sent)
    @rule(which=pick, slice_s=st.sampled_from([1200.0, 0.0]), is_taken_off=st.booleans())
    def message(self, which: int, slice_s: float, is_taken_off: bool) -> None:
        """Any text that ever was on a work queue comes, for the first time or again."""
        self.run(self.story.deliver(self.sent(which), slice_s=slice_s, is_taken_off=is_taken_off))

    @precondition(lambda self: self.has("queued"))
    @rule(word=st.sampled_from(["saved", *TROUBLE]), steps_before=st.integers(0, 1))
    def next_message(self, word: str, steps_before: int) -> None:
        """The plain way, so that stories come far: a job that is due is announced, claimed and worked for a while."""
        self.run(self.story.work_next(["saved"] * steps_before + [word]))

    @precondition(lambda self: self.story.runs)
    @rule(which=pick, word=st.sampled_from(["saved", "saved", "saved", *TROUBLE]))
    def step_ends(self, which: int, word: str) -> None:
        runs = self.story.runs
        self.run(self.story.tell(runs[-1 - which % len(runs)], word))

    @precondition(lambda self: self.story.runs)
    @rule(which=pick)
    def worker_dies(self, which: int) -> None:
        runs = self.story.runs
        self.run(runs.pop(-1 - which % len(runs)).kill())

    @precondition(lambda self: self.has("running"))
    @rule()
    def leases_run_out(self) -> None:
        self.run(self.story.db.execute(LEASES_RUN_OUT))

    @precondition(lambda self: self.story.runs)
    @rule()
    def heart_beats(self) -> None:
        self.run(self.story.beat())

    @precondition(lambda self: self.has("queued"))
    @rule(queue=st.sampled_from(sorted(NAMES)))
    def messages_are_lost(self, queue: str) -> None:
        self.story.post.clear(NAMES[queue])

    # People

    @rule(which=pick, what=st.sampled_from(["cancel", "retry", "discard", "approve", "reject"]))
    def person(self, which: int, what: str) -> None:
        job_id = self.story.job(which)
        before = self.story.seen.jobs[job_id]["state"]
        decide, by = self.story.app.decisions, Decision(decided_by="Ada")
        asks: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
            "cancel": lambda: decide.cancel(job_id),
            "retry": lambda: decide.retry(job_id),
            "discard": lambda: decide.discard(job_id, Discard(discarded_by="Ada")),
            "approve": lambda: decide.approve(job_id, by),
            "reject": lambda: decide.reject(job_id, by),
        }
        allowed = {
            "cancel": {"queued", "waiting_for_approval"}
            | ({"running"} if self.story.seen.jobs[job_id]["kind"] == "review" else set()),
            "retry": {"dead_letter", "failed"},
            "discard": {"dead_letter"},
            "approve": {"waiting_for_approval"},
            "reject": {"waiting_for_approval"},
        }
        self.story.called_back = frozenset({job_id} if what in ("retry", "discard") else ())
        try:
            self.run(asks[what]())
        except Conflict:
            assert before not in allowed[what]
        else:
            assert before in allowed[what]

    @precondition(lambda self: self.has("dead_letter", "failed"))
    @rule(state=st.sampled_from(["dead_letter", "failed"]), limit=st.integers(1, 2))
    def retry_many(self, state: str, limit: int) -> None:
        there = [job_id for job_id, job in self.story.seen.jobs.items() if job["state"] == state]
        self.story.called_back = frozenset(there)
        redrive = Redrive.model_validate({"state": state, "limit": limit})
        done = self.run(self.story.app.decisions.retry_many(redrive))
        assert (done.retried, done.remaining) == (min(limit, len(there)), max(0, len(there) - limit))

    @precondition(lambda self: self.has("waiting_for_approval"))
    @rule()
    def nobody_approves(self) -> None:
        self.run(self.story.db.execute("UPDATE approvals SET expires_at = now() WHERE state = 'waiting'"))

    # Operators at the poison queues

    @precondition(lambda self: self.has("dead_letter"))
    @rule(which=pick, how=st.sampled_from(["back", "plain", "copied", "deleted"]), queue=st.sampled_from(sorted(NAMES)))
    def operator(self, which: int, how: str, queue: str) -> None:
        """Moves a message back, with or without the tick, copies one or deletes one."""
        letters = [one for one in self.story.post.visible(POISONS[queue]) if _is_ours(one.text)]
        if not letters:
            return
        letter = letters[-1 - which % len(letters)]
        if how == "copied":
            self.story.post.add(POISONS[queue], letter.text)
            return
        self.story.post.remove(POISONS[queue], letter)
        if how == "back":
            self.story.post.add(NAMES[queue], letter.text)
            self.story.sent.append(Sent(queue, letter.text, by_operator=True))
        elif how == "plain":  # the host cannot read it, and moves it to poison as it is
            self.story.post.add(POISONS[queue], letter.body)

    @rule(queue=st.sampled_from(sorted(NAMES)), text=st.sampled_from(["a stray", '{"job_id": "x"}']))
    def stray(self, queue: str, text: str) -> None:
        self.story.strays[queue].append(text)
        self.story.post.add(POISONS[queue], text)

    @precondition(lambda self: self.story.sent)
    @rule(which=pick)
    def host_gives_up(self, which: int) -> None:
        """After five failures the host puts a copy of the message on the poison queue."""
        sent = self.sent(which)
        self.story.post.add(POISONS[sent.queue], sent.text)

    # What must hold

    @invariant()
    def promises_hold(self) -> None:
        self.run(self.story.check())

    def teardown(self) -> None:
        try:
            self.run(self.story.come_to_an_end())
        finally:
            self.run(self.story.made.close())
            self.loop.close()

    def has(self, *states: str) -> bool:
        return any(job["state"] in states for job in self.story.seen.jobs.values())

    def sent(self, which: int) -> Sent:
        return self.story.sent[-1 - which % len(self.story.sent)]


def _is_ours(text: str) -> bool:
    """Whether it is a message of ours as it was put, and not one that an operator has written."""
    copy = StoredCopy.read(text)
    return copy is not None and not copy.is_plain


def test_jobs_when_all_happens_in_any_order_then_every_promise_is_kept_and_each_comes_to_its_end(
    postgres: Postgres,
) -> None:
    print(f"{STORIES or FEW} stories; for more: ANY_ORDER_STORIES=500 (see the top of {__file__})")
    run_state_machine_as_test(
        lambda: AnyOrder(postgres.url),  # type: ignore[arg-type]  # documented: a function without arguments will do
        settings=settings(
            max_examples=STORIES or FEW,
            stateful_step_count=STEPS,
            derandomize=not STORIES,
            phases=list(Phase) if STORIES else [Phase.generate],  # shortening a bad story takes minutes
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
