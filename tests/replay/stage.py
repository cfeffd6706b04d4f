"""One scenario on stage: everything it needs is opened, its cues are followed, what was seen is returned."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from tests.replay.cues import await_cue, list_cues
from tests.replay.driver import Driver
from tests.replay.events import Event
from tests.replay.faults import FaultInjector
from tests.replay.journal import Journal
from tests.replay.limits import REPLAY_SLACK_S, Slack
from tests.replay.logs import captured_warnings
from tests.replay.observer import Observer
from tests.replay.proxy import Proxy
from tests.replay.pulse import Pulse
from tests.replay.queues import Queues
from tests.replay.scenario import Input, Scenario


@dataclass(frozen=True)
class Performance:
    """What was seen of one replay, in order of time. `exit_code` None: the host had to be ended by force.

    `slack` tells what may come on top of a wait; `was_disturbed` whether the machine kept all of it waiting.
    """

    events: Sequence[Event]
    warnings: Sequence[str]
    exit_code: int | None
    slack: Slack
    was_disturbed: bool = False


async def perform(scenario: Scenario, connection: str, prefix: str, pulse: Pulse) -> Performance:
    """Replay a scenario at the queue service of `connection`; `prefix` begins the names of its queues."""
    journal = Journal()
    async with AsyncExitStack() as stack:
        queues = await stack.enter_async_context(Queues(connection, prefix))
        faults = FaultInjector(scenario.fault)
        proxy = await stack.enter_async_context(Proxy(_origin(connection), prefix, journal, faults, pulse))
        hosts = await stack.enter_async_context(AsyncExitStack())
        warnings = stack.enter_context(captured_warnings(prefix))
        driver = Driver(scenario, journal, queues, proxy, hosts)
        observer = Observer(queues, scenario.tags)
        for cue in list_cues(scenario):
            if cue.is_after_exit:
                await driver.await_exit()
            await await_cue(cue, scenario, journal)
            if isinstance(cue.action, Input):
                await driver.do(cue.action)
            else:
                for seen in await observer.look(cue.action, driver):
                    journal.write(replace(seen, at_s=journal.now_s()))
        exit_code = await driver.await_exit()
    started_at = journal.started_at

    def slack(from_s: float, to_s: float) -> float:
        return REPLAY_SLACK_S + pulse.stood_still_s(started_at + from_s, started_at + to_s)

    return Performance(
        journal.copy_fair(queues.tags_by_id, scenario.tags),
        warnings,
        exit_code,
        slack,
        pulse.was_disturbed(started_at, started_at + journal.now_s()),
    )


def _origin(connection: str) -> str:
    endpoint = dict(part.split("=", 1) for part in connection.split(";") if part)["QueueEndpoint"]
    return f"http://{urlsplit(endpoint).netloc}"
