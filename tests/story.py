"""One story of jobs: a database, queues, one process of the app, and runs that stand at a step until they are told."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from shared.db import Database
from shared.jobs.states import FINISHED
from shared.queues.messages import StoredCopy
from shared.wiring import App
from tests.postbox import Postbox, PutFault, Stored
from tests.promises import Seen, broken, look
from tests.run_by_hand import RunByHand, kinds_of
from tests.seams import LEASES_RUN_OUT, TIME_PASSES, build_offline, rewired

NAMES = {"tickets": "tickets", "reports": "reports"}
POISONS = {queue: f"{name}-poison" for queue, name in NAMES.items()}


@dataclass(frozen=True)
class Sent:
    """A text that was once on a work queue, put there by the relay or by an operator."""

    queue: str
    text: str
    by_operator: bool = False


@dataclass
class Story:
    """`seen`: the rows when last looked at; `called_back`: jobs whose end a person is just taking back."""

    made: App
    app: App
    post: Postbox
    runs: list[RunByHand] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    strays: dict[str, list[str]] = field(default_factory=lambda: {queue: [] for queue in NAMES})
    seen: Seen = field(default_factory=Seen)
    called_back: frozenset[int] = frozenset()

    @classmethod
    async def begin(cls, database_url: str, *, max_attempts: int) -> Story:
        kinds = kinds_of(lambda _: at_nobodys_desk())
        made = await build_offline(database_url, kinds, JOB_MAX_ATTEMPTS=str(max_attempts))
        post = Postbox()
        return cls(made, rewired(made, made.db, post, NAMES), post)

    @property
    def db(self) -> Database:
        return self.made.db

    def job(self, which: int) -> int:
        """One of the jobs there are, the newest first."""
        jobs = sorted(self.seen.jobs, reverse=True)
        return jobs[which % len(jobs)]

    def dead_letters_named(self, *copies: StoredCopy | None) -> frozenset[int]:
        """Those dead letters that a message names by their number."""
        named = {(copy.job_id, copy.delivery) for copy in copies if copy is not None}
        jobs = self.seen.jobs.values()
        return frozenset(
            job["job_id"] for job in jobs if job["state"] == "dead_letter" and (job["job_id"], job["delivery"]) in named
        )

    async def check(self) -> None:
        """Look, and hold what is seen against the promises."""
        now = await look(self.db)
        assert broken(self.seen, now, called_back=self.called_back) == []
        self.seen, self.called_back = now, frozenset()

    async def relay(self, *, times: int = 1, fault: PutFault | None = None) -> None:
        """Passes at once, while every put meets `fault`."""
        self.post.fault = fault
        await asyncio.gather(*(self.app.relay.run_pass(stay_s=0) for _ in range(times)))
        self.post.fault = None
        known = {sent.text for sent in self.sent}
        for queue, name in NAMES.items():
            self.sent += [Sent(queue, one.text) for one in self.post.all(name) if one.text not in known]

    async def sweep(self, *, times: int = 1) -> None:
        """Passes at once; an operator's plain texts on the poison queues call their jobs back."""
        texts = [one.text for name in POISONS.values() for one in self.post.visible(name)]
        copies = [StoredCopy.read(text) for text in texts]
        self.called_back = self.dead_letters_named(*(copy for copy in copies if copy is not None and copy.is_plain))
        await asyncio.gather(*(self.app.sweep.run_pass() for _ in range(times)))

    async def deliver(self, sent: Sent, *, slice_s: float = 1200, is_taken_off: bool = True) -> None:
        """Give a message to a worker, which goes as far as its first step; for the queue it may be there still."""
        if sent.by_operator:
            self.called_back = self.dead_letters_named(StoredCopy.read(sent.text))
        run = RunByHand(self.app.worker, Stored("", sent.text).body, slice_s=slice_s)
        await run.rest()
        self.runs += [] if run.is_over else [run]
        on_queue = [one for one in self.post.all(NAMES[sent.queue]) if one.text == sent.text]
        if is_taken_off and on_queue:
            self.post.remove(NAMES[sent.queue], on_queue[0])

    async def work_next(self, words: list[str]) -> None:
        """Announce what waits, and work on the first message as long as there are words."""
        await self.let_time_pass()
        await self.relay()
        for queue, name in NAMES.items():
            for message in self.post.visible(name)[:1]:
                sent = next(sent for sent in self.sent if (sent.queue, sent.text) == (queue, message.text))
                known = len(self.runs)
                await self.deliver(sent)
                for word in words:
                    if len(self.runs) > known:
                        await self.tell(self.runs[-1], word)

    async def tell(self, run: RunByHand, word: str) -> None:
        """Let a run's step end, and the run go on to the next one."""
        await run.tell(word)
        self.forget_ended()

    async def beat(self) -> None:
        """The heart of the process: it extends the leases, and stops the runs that were taken away."""
        await self.app.worker.heart.beat()
        await asyncio.gather(*(run.settle() for run in self.runs))
        self.forget_ended()

    def forget_ended(self) -> None:
        self.runs = [run for run in self.runs if not run.is_over]

    async def let_time_pass(self) -> None:
        await self.db.execute(TIME_PASSES)
        self.post.show_all()

    async def come_to_an_end(self) -> None:
        """Nothing happens any more but what the app does by itself, and steps succeed: all ends, and stays so."""
        for run in self.runs:
            await run.kill()
        self.runs = []
        await self.db.execute(LEASES_RUN_OUT)
        for _ in range(20):
            await self._make_a_round()
            if self._is_quiet() and self._is_in_step():
                break
        await self._make_a_round()
        assert self._is_quiet(), self.seen
        assert self._is_in_step(), [self.post.all(name) for name in POISONS.values()]

    async def _make_a_round(self) -> None:
        await self.let_time_pass()
        await self.sweep()
        await self.check()
        await self.relay()
        for queue, name in NAMES.items():
            for message in self.post.visible(name):
                by_operator = any(sent.by_operator and sent.text == message.text for sent in self.sent)
                await self.deliver(Sent(queue, message.text, by_operator))
                while self.runs:
                    await self.tell(self.runs[0], "saved")
                await self.check()

    def _is_quiet(self) -> bool:
        ended = FINISHED | {"waiting_for_approval"}
        return all(job["state"] in ended for job in self.seen.jobs.values()) and not self.seen.outbox

    def _is_in_step(self) -> bool:
        """One message a dead letter, and the strays."""
        for queue, name in POISONS.items():
            copies = [(one.text, StoredCopy.read(one.text)) for one in self.post.all(name)]
            letters = sorted((copy.job_id, copy.delivery) for _, copy in copies if copy)
            dead = sorted(
                (job["job_id"], job["delivery"])
                for job in self.seen.jobs.values()
                if (job["state"], job["queue"]) == ("dead_letter", queue)
            )
            if letters != dead or [text for text, copy in copies if not copy] != self.strays[queue]:
                return False
        return True


async def at_nobodys_desk() -> str:
    raise AssertionError("only runs by hand make steps")
