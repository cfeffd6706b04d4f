"""How every story ends: nothing happens any more but what the app does by itself, and all comes to its end."""

from __future__ import annotations

from shared.jobs.states import FINISHED
from shared.queues.messages import StoredCopy
from tests.seams import LEASES_RUN_OUT
from tests.story import NAMES, POISONS, Sent, Story


async def come_to_an_end(story: Story) -> None:
    """Nothing happens any more but what the app does by itself, and steps succeed: all ends, and stays so."""
    for run in story.runs:
        await run.kill()
    story.runs = []
    await story.db.execute(LEASES_RUN_OUT)
    await story.check()
    for _ in range(20):
        await _make_a_round(story)
        if _is_quiet(story) and _is_in_step(story):
            break
    await _make_a_round(story)
    assert _is_quiet(story), story.seen
    assert _is_in_step(story), [story.post.all(name) for name in POISONS.values()]


async def _make_a_round(story: Story) -> None:
    await story.let_time_pass()
    await story.sweep()
    await story.check()
    await story.relay()
    for queue, name in NAMES.items():
        for message in story.post.visible(name):
            by_operator = any(sent.by_operator and sent.text == message.text for sent in story.sent)
            await story.deliver(Sent(queue, message.text, by_operator))
            while story.runs:
                await story.tell(story.runs[0], "saved")
            await story.check()


def _is_quiet(story: Story) -> bool:
    ended = FINISHED | {"waiting_for_approval"}
    return all(job["state"] in ended for job in story.seen.jobs.values()) and not story.seen.outbox


def _is_in_step(story: Story) -> bool:
    """One message a dead letter, and the strays."""
    for queue, name in POISONS.items():
        copies = [(one.text, StoredCopy.read(one.text)) for one in story.post.all(name)]
        letters = sorted((copy.job_id, copy.delivery) for _, copy in copies if copy)
        dead = sorted(
            (job["job_id"], job["delivery"])
            for job in story.seen.jobs.values()
            if (job["state"], job["queue"]) == ("dead_letter", queue)
        )
        if letters != dead or [text for text, copy in copies if not copy] != story.strays[queue]:
            return False
    return True
