"""One story of jobs: a database, queues, one process of the app, and runs that stand at a step until they are told."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from shared.db import Database
from shared.queues.messages import StoredCopy
from shared.wiring import App
from tests.postbox import Postbox, PutFault, Stored
from tests.promises import broken
from tests.run_by_hand import RunByHand, kinds_of
from tests.seams import LEASES_RUN_OUT, TIME_PASSES, build_offline, rewired
from tests.seen import Seen, look

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
    """`seen`: the rows when last looked at; `called_back`: jobs whose end a person is just taking back; `untouched`:
    jobs with which nobody just now has a right to do anything."""

    made: App
    app: App
    post: Postbox
    runs: list[RunByHand] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    strays: dict[str, list[str]] = field(default_factory=lambda: {queue: [] for queue in NAMES})
    seen: Seen = field(default_factory=Seen)
    called_back: frozenset[int] = frozenset()
    untouched: frozenset[int] = frozenset()

    @classmethod
    async def begin(cls, database_url: str, *, max_attempts: int) -> Story:
        kinds = kinds_of(lambda _: at_nobodys_desk())
        made = await build_offline(database_url, kinds, JOB_MAX_ATTEMPTS=str(max_attempts))
        post = Postbox()
        return cls(made, rewired(made, made.db, post, NAMES), post)

    @property
    def db(self) -> Database:
        return self.made.db

    @property
    def overtaken(self) -> list[RunByHand]:
        """Runs that stand there still, while a later one has their job."""
        fences = [(run, run.fence) for run in self.runs if run.fence]
        return [run for run, (job_id, number) in fences if self.seen.is_at_another(job_id, number)]

    def run_at(self, job_id: int) -> RunByHand | None:
        """The run that has the job in its hands, if its process lives."""
        fence = job_id, self.seen.jobs[job_id]["run"]
        return next((run for run in self.runs if run.fence == fence), None)

    @property
    def stalled(self) -> list[RunByHand]:
        """Runs that stand before their last arrow, with their job still in their hands."""
        return [run for run in self.runs if run.fence and run.saved is None and self.seen.is_at(*run.fence)]

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

    async def close(self) -> None:
        for run in self.runs:
            await run.kill()
        await self.made.close()

    async def check(self) -> None:
        """Look, and hold what is seen against the promises."""
        now = await look(self.db)
        problems = broken(self.seen, now, called_back=self.called_back, untouched=self.untouched)
        assert not problems, problems
        self.seen, self.called_back, self.untouched = now, frozenset(), frozenset()
        put = {(copy.job_id, copy.delivery) for sent in self.sent if (copy := StoredCopy.read(sent.text))}
        announced = {(job["job_id"], job["delivery"]) for job in now.jobs.values() if job["announced_at"]}
        assert announced <= put, "announced by a message that was never put"
        for run in self.runs:
            if run.fence and run.saved is not None and now.is_at(*run.fence):
                assert run.saved == now.outputs(run.fence[0]), "a step is done again, or was never saved"

    async def relay(self, *, times: int = 1, fault: PutFault | None = None, is_overtaken: bool = False) -> None:
        """Passes at once, while every put meets `fault`; overtaken, when workers are done with a message before the
        pass has noted that it was put."""
        self.post.fault, self.post.meanwhile = fault, self._overtake if is_overtaken else None
        await asyncio.gather(*(self.app.relay.run_pass(stay_s=0) for _ in range(times)))
        self.post.fault = self.post.meanwhile = None
        known = {sent.text for sent in self.sent}
        for queue, name in NAMES.items():
            self.sent += [Sent(queue, one.text) for one in self.post.all(name) if one.text not in known]

    async def sweep(self, *, times: int = 1) -> None:
        """Passes at once; an operator's plain texts on the poison queues call their jobs back."""
        texts = [one.text for name in POISONS.values() for one in self.post.visible(name)]
        copies = [StoredCopy.read(text) for text in texts]
        self.called_back = self.dead_letters_named(*(copy for copy in copies if copy is not None and copy.is_plain))
        await asyncio.gather(*(self.app.sweep.run_pass() for _ in range(times)))

    async def _overtake(self, name: str, text: str) -> None:
        if name in NAMES.values():
            run = RunByHand(self.app.worker, Stored("", text).body, slice_s=1200)
            await run.rest()
            while not run.is_over:
                await run.tell("throttled")

    async def message_comes(self, sent: Sent, *, slice_s: float, is_taken_off: bool) -> None:
        """For the first time or again: only the newest number counts, and on a dead letter only an operator's."""
        if copy := StoredCopy.read(sent.text):
            job = self.seen.jobs[copy.job_id]
            counts = job["delivery"] == copy.delivery and job["state"] in ("queued", "dead_letter")
            self.untouched = frozenset() if counts else frozenset({copy.job_id})
        await self.deliver(sent, slice_s=slice_s, is_taken_off=is_taken_off)

    async def deliver(
        self, sent: Sent, *, slice_s: float = 1200, is_taken_off: bool = True, stalls: bool = False
    ) -> None:
        """Give a message to a worker, which goes as far as its first step, or, where no step is left and it `stalls`,
        as its arrow; for the queue the message may be there still."""
        if sent.by_operator:
            self.called_back |= self.dead_letters_named(StoredCopy.read(sent.text))
        run = RunByHand(self.app.worker, Stored("", sent.text).body, slice_s=slice_s, stalls=stalls)
        await run.rest()
        self.runs += [] if run.is_over else [run]
        on_queue = [one for one in self.post.all(NAMES[sent.queue]) if one.text == sent.text]
        if is_taken_off and on_queue:
            self.post.remove(NAMES[sent.queue], on_queue[0])

    async def work_next(self, words: list[str], *, jobs: int = 1, stalls: bool = False) -> None:
        """Announce what waits, and work on the first messages of each queue as long as there are words."""
        await self.let_time_pass()
        await self.relay()
        for queue, name in NAMES.items():
            for message in self.post.visible(name)[:jobs]:
                sent = next(sent for sent in self.sent if (sent.queue, sent.text) == (queue, message.text))
                known = len(self.runs)
                await self.deliver(sent, stalls=stalls)
                for word in words:
                    if len(self.runs) > known:
                        await self.tell(self.runs[-1], word)

    async def step_ends(self, run: RunByHand, word: str, *, stalls: bool) -> None:
        """Of a run that may have been taken away long ago."""
        if run.fence and not self.seen.is_at(*run.fence):
            self.untouched = frozenset({run.fence[0]})
        await run.tell(word, stalls=stalls)
        self.forget_ended()

    async def give_up_workers(self, *, is_taken_over: bool, others_stall: bool) -> None:
        """Their leases run out, and the sweep takes their jobs away; others may be at them before they go on."""
        await self.db.execute(LEASES_RUN_OUT)
        await self.check()
        await self.sweep()
        await self.check()
        if is_taken_over:
            await self.work_next([], jobs=4, stalls=others_stall)

    async def tell(self, run: RunByHand, word: str) -> None:
        """Let a run's step end, and the run go on to the next one."""
        await run.tell(word)
        self.forget_ended()

    async def beat(self) -> None:
        """The heart of the process: it extends the leases, and stops the runs that were taken away."""
        await self.app.worker.heart.beat()
        await asyncio.gather(*(run.settle() for run in self.runs))
        self.forget_ended()
        for run in self.runs:
            if run.fence and run.saved is not None:  # one that stalls on its way out is stopped by the fence
                assert self.seen.is_at(*run.fence), "its heart beats for a job that it has lost"
                assert not self.seen.jobs[run.fence[0]]["cancel_requested"], "asked to stop, and goes on"

    def forget_ended(self) -> None:
        self.runs = [run for run in self.runs if not run.is_over]

    async def let_time_pass(self) -> None:
        await self.db.execute(TIME_PASSES)
        self.post.show_all()


async def at_nobodys_desk() -> str:
    raise AssertionError("only runs by hand make steps")
