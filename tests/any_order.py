"""The rules by which anything happens to jobs in any order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import get_args

from shared.api.asked import Decision, Discard, NewJob, NewTicket, Redrive
from shared.errors import Conflict, KeyReused
from shared.intake import Asked
from shared.queues.messages import StoredCopy
from tests.chance import Rules
from tests.postbox import PutFault, Stored
from tests.run_by_hand import TROUBLE
from tests.seams import LEASES_RUN_OUT
from tests.story import NAMES, POISONS, Sent, Story

MANY = 4  # unfinished jobs: few enough to meet again and again
PICK = range(8)  # which one of those there are, the newest first
EITHER = (False, True)
WORDS = ("saved", "saved", "saved", "retry", *TROUBLE)
FAULTS: tuple[PutFault | None, ...] = (None, None, None, *get_args(PutFault))
STATES = {
    "cancel": {"queued", "waiting_for_approval"},
    "retry": {"dead_letter", "failed"},
    "discard": {"dead_letter"},
    "approve": {"waiting_for_approval"},
    "reject": {"waiting_for_approval"},
}

rule: Rules[AnyOrder] = Rules()


class AnyOrder:
    """One story: a database, queues, one process of the app, and runs that stand at a step."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.keys: dict[str, tuple[str, int]] = {}

    # Clients

    @rule(weight=2, when=lambda self: self.has_room, subject=("Charged twice", "Lost"))
    async def ticket(self, subject: str) -> None:
        await self.sends(subject, None)

    @rule(weight=2, key=("key-0001", "key-0002"), subject=("Charged twice", "Charged twice", "Lost"))
    async def ticket_with_key(self, key: str, subject: str) -> None:
        await self.sends(subject, key)

    @rule(weight=3, when=lambda self: self.has_room, is_asked=(True, True, False))
    async def review(self, is_asked: bool) -> None:
        asked = {"task": "Review", "workspace_id": "team_42", "kind": "review", "require_approval": is_asked}
        await self.story.app.intake.accept_job(NewJob.model_validate(asked), Asked("r2"), key=None)

    # Passes

    @rule(weight=3, times=(1, 2), fault=FAULTS, is_overtaken=EITHER)
    async def relay(self, times: int, fault: PutFault | None, is_overtaken: bool) -> None:
        await self.story.relay(times=times, fault=fault, is_overtaken=is_overtaken)

    @rule(weight=2, times=(1, 2))
    async def sweep(self, times: int) -> None:
        await self.story.sweep(times=times)

    @rule()
    async def time_passes(self) -> None:
        await self.story.let_time_pass()

    # Messages and workers

    @rule(weight=2, when=lambda self: self.story.sent, which=PICK, slice_s=(1200.0, 0.0), is_taken_off=EITHER)
    async def message(self, which: int, slice_s: float, is_taken_off: bool) -> None:
        """Any text that ever was on a work queue comes, for the first time or again."""
        await self.story.message_comes(self.sent(which), slice_s=slice_s, is_taken_off=is_taken_off)

    @rule(weight=6, when=lambda self: self.has("queued"))
    async def next_begins(self) -> None:
        """The plain way, so that stories come far: a job that is due is announced and claimed."""
        await self.story.work_next([])

    @rule(weight=4, when=lambda self: self.has("queued"), word=("saved", "retry", *TROUBLE), steps_before=(0, 1, 1))
    async def next_is_worked(self, word: str, steps_before: int) -> None:
        """And worked for a while."""
        await self.story.work_next(["saved"] * steps_before + [word])

    @rule(weight=8, when=lambda self: self.story.runs, which=PICK, word=WORDS, stalls=EITHER)
    async def step_ends(self, which: int, word: str, stalls: bool) -> None:
        runs = self.story.runs
        await self.story.step_ends(runs[-1 - which % len(runs)], word, stalls=stalls)

    @rule(weight=12, when=lambda self: self.story.overtaken, which=PICK, word=WORDS, stalls=EITHER)
    async def stalled_step_ends(self, which: int, word: str, stalls: bool) -> None:
        """Of a run that knows nothing of the next one, which is at work on the same job."""
        runs = self.story.overtaken
        await self.story.step_ends(runs[which % len(runs)], word, stalls=stalls)

    @rule(when=lambda self: self.story.runs, which=PICK)
    async def worker_dies(self, which: int) -> None:
        runs = self.story.runs
        await runs.pop(-1 - which % len(runs)).kill()

    @rule(when=lambda self: self.has("running"))
    async def leases_run_out(self) -> None:
        await self.story.db.execute(LEASES_RUN_OUT)

    @rule(weight=4, when=lambda self: self.has("running"), is_taken_over=(False, True, True), others_stall=EITHER)
    @rule(weight=16, when=lambda self: self.story.stalled, is_taken_over=(True,), others_stall=(True, True, False))
    async def workers_are_given_up(self, is_taken_over: bool, others_stall: bool) -> None:
        await self.story.give_up_workers(is_taken_over=is_taken_over, others_stall=others_stall)

    @rule(weight=2, when=lambda self: self.story.runs)
    async def heart_beats(self) -> None:
        await self.story.beat()

    @rule(when=lambda self: self.has("queued"), queue=sorted(NAMES))
    async def messages_are_lost(self, queue: str) -> None:
        self.story.post.clear(NAMES[queue])

    # People

    @rule(which=PICK, what=sorted(STATES))
    async def person(self, which: int, what: str) -> None:
        await self.asks(self.story.job(which), what)

    @rule(
        weight=6, when=lambda self: any(self.stoppable()), which=PICK, then=(*["the heart beats"] * 3, "failed", *WORDS)
    )
    async def person_stops(self, which: int, then: str) -> None:
        """A running job; its run hears of it, or comes to something before that."""
        running = list(self.stoppable())
        job_id = running[which % len(running)]
        await self.asks(job_id, "cancel")
        await self.story.check()
        if then not in WORDS:
            await self.story.beat()
        elif run := self.story.run_at(job_id):
            await self.story.step_ends(run, then, stalls=False)

    @rule(weight=6, when=lambda self: self.has("waiting_for_approval"), what=("approve", "approve", "reject"))
    async def person_decides(self, what: str) -> None:
        await self.asks(next(self.all("waiting_for_approval")), what)

    @rule(weight=3, when=lambda self: self.has("dead_letter", "failed"), which=PICK, what=("retry", "retry", "discard"))
    async def person_takes_back(self, which: int, what: str) -> None:
        ended = list(self.all("dead_letter", "failed"))
        await self.asks(ended[which % len(ended)], what)

    @rule(when=lambda self: self.has("dead_letter", "failed"), state=("dead_letter", "failed"), limit=(1, 2))
    async def retry_many(self, state: str, limit: int) -> None:
        there = list(self.all(state))
        self.story.called_back = frozenset(there)
        redrive = Redrive.model_validate({"state": state, "limit": limit})
        done = await self.story.app.decisions.retry_many(redrive)
        assert (done.retried, done.remaining) == (min(limit, len(there)), max(0, len(there) - limit))

    @rule(when=lambda self: self.has("waiting_for_approval"))
    async def nobody_approves(self) -> None:
        await self.story.db.execute("UPDATE approvals SET expires_at = now() WHERE state = 'waiting'")

    # Operators at the poison queues

    @rule(
        weight=3,
        when=lambda self: any(self.letters()),
        which=PICK,
        how=("back", "plain", "copied", "copied", "deleted"),
    )
    async def operator(self, which: int, how: str) -> None:
        """Moves a message back, with or without the tick, copies one or deletes one."""
        letters = list(self.letters())
        queue, letter = letters[-1 - which % len(letters)]
        if how == "copied":
            self.story.post.add(POISONS[queue], letter.text)
            return
        self.story.post.remove(POISONS[queue], letter)
        if how == "back":
            self.story.post.add(NAMES[queue], letter.text)
            self.story.sent.append(Sent(queue, letter.text, by_operator=True))
        elif how == "plain":  # the host cannot read it, and moves it to poison as it is
            self.story.post.add(POISONS[queue], letter.body)

    @rule(queue=sorted(NAMES), text=("a stray", '{"job_id": "x"}'))
    async def stray(self, queue: str, text: str) -> None:
        self.story.strays[queue].append(text)
        self.story.post.add(POISONS[queue], text)

    @rule(when=lambda self: self.story.sent, which=PICK)
    async def host_gives_up(self, which: int) -> None:
        """After five failures the host puts a copy of the message on the poison queue."""
        sent = self.sent(which)
        self.story.post.add(POISONS[sent.queue], sent.text)

    # What the rules ask

    async def sends(self, subject: str, key: str | None) -> None:
        new = NewTicket.model_validate({"customer_id": "C-0022", "subject": subject})
        first = self.keys.get(key or "")
        try:
            accepted, is_replay = await self.story.app.intake.accept_ticket(new, Asked("r1"), key=key)
        except KeyReused:
            assert first is not None and first[0] != subject
            return
        assert is_replay == (first is not None)
        assert first in (None, (subject, accepted.job_id))
        if key:
            self.keys[key] = subject, accepted.job_id

    async def asks(self, job_id: int, what: str) -> None:
        """A person asks for something, and gets it if and only if the job's state allows it."""
        decide, by, seen = self.story.app.decisions, Decision(decided_by="Ada"), self.story.seen
        asks: dict[str, Callable[[], Awaitable[object]]] = {
            "cancel": lambda: decide.cancel(job_id),
            "retry": lambda: decide.retry(job_id),
            "discard": lambda: decide.discard(job_id, Discard(discarded_by="Ada")),
            "approve": lambda: decide.approve(job_id, by),
            "reject": lambda: decide.reject(job_id, by),
        }
        is_allowed = seen.jobs[job_id]["state"] in STATES[what] or (what == "cancel" and job_id in self.stoppable())
        if what == "approve" and seen.waits_in_vain(job_id):
            is_allowed = False
        self.story.called_back = frozenset({job_id} if what in ("retry", "discard") else ())
        self.story.untouched = frozenset(() if is_allowed else {job_id})
        try:
            await asks[what]()
        except Conflict:
            assert not is_allowed
        else:
            assert is_allowed

    def all(self, *states: str) -> Iterator[int]:
        return (job_id for job_id, job in self.story.seen.jobs.items() if job["state"] in states)

    def has(self, *states: str) -> bool:
        return any(self.all(*states))

    @property
    def has_room(self) -> bool:
        return len(list(self.all("queued", "running", "waiting_for_approval", "dead_letter"))) < MANY

    def stoppable(self) -> Iterator[int]:
        return (job_id for job_id in self.all("running") if self.story.seen.jobs[job_id]["kind"] == "review")

    def sent(self, which: int) -> Sent:
        return self.story.sent[-1 - which % len(self.story.sent)]

    def letters(self) -> Iterator[tuple[str, Stored]]:
        """The messages of ours on the poison queues as they were put, and none that an operator has written."""
        for queue, name in POISONS.items():
            for message in self.story.post.visible(name):
                copy = StoredCopy.read(message.text)
                if copy is not None and not copy.is_plain:
                    yield queue, message
