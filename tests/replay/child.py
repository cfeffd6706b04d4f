"""The host of a replay as a process of its own, for scenarios in which the process is killed or ends itself.

Reads its orders as a line of JSON, writes what it sees as lines of JSON, and stops on a second line.
"""

import asyncio
import json
import sys
from dataclasses import asdict

from simulator.host.queue_settings import QueueSettings, QueueTimes
from tests.replay.events import Event
from tests.replay.host import Host


async def main() -> int:
    orders = json.loads(await asyncio.to_thread(sys.stdin.readline))
    settings, times = QueueSettings(**orders["settings"]), QueueTimes(**orders["times"])
    async with Host(orders["connection"], tuple(orders["queues"]), settings, times, _report) as host:
        _write(started_at=await host.start())
        await asyncio.to_thread(sys.stdin.readline)
        host.stop()
        return await host.exited()


def _report(event: Event, message_id: str) -> None:
    _write(event=asdict(event), message_id=message_id)


def _write(**line: object) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
