"""Who acts from outside in a replay: starts and stops the host, puts messages, meddles with queues."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace

from simulator.stack.azurite import ACCOUNT, ACCOUNT_KEY
from tests.replay.child_host import ChildHost
from tests.replay.events import Event
from tests.replay.host import Host
from tests.replay.journal import Journal
from tests.replay.proxy import LOOPBACK, Proxy
from tests.replay.queues import Queues
from tests.replay.scenario import Input, Scenario

EXIT_PATIENCE_S = 30.0


class Driver:
    """Carries out the inputs of one scenario. Hosts that it starts are closed with `hosts`."""

    def __init__(
        self, scenario: Scenario, journal: Journal, queues: Queues, proxy: Proxy, hosts: AsyncExitStack
    ) -> None:
        self._scenario = scenario
        self._journal = journal
        self._queues = queues
        self._proxy = proxy
        self._hosts = hosts
        self._host: Host | ChildHost | None = None
        self._has_exited = False
        self._acts: Mapping[str, Callable[[Input], Awaitable[None]]] = {
            "create_queue": self._create_queue,
            "delete_queue": self._delete_queue,
            "put": self._put,
            "put_text": self._put,
            "delete_message": self._meddle,
            "update_message": self._meddle,
            "start_host": self._start_host,
            "signal": self._signal,
            "command": self._command,
            "note": self._heed_note,
        }

    @property
    def is_alive(self) -> bool:
        return self.host.is_alive

    async def await_exit(self) -> int | None:
        """Wait for the host's end and return its exit code.

        None if it takes too long: a host that never ends is what a replay may bring to light.
        """
        patience_s = max(self._scenario.exit_at_s - self._journal.now_s(), 0.0) * 2 + EXIT_PATIENCE_S
        try:
            async with asyncio.timeout(patience_s):
                exit_code = await self.host.exited()
        except TimeoutError:
            return None
        if not self._has_exited:
            self._has_exited = True
            self._journal.write(Event(at_s=self._journal.now_s(), who="host", what="process exited"))
        return exit_code

    @property
    def host(self) -> Host | ChildHost:
        if self._host is None:
            raise AssertionError("the scenario starts no host")
        return self._host

    async def do(self, action: Input) -> None:
        await self._acts[action.op](action)

    async def _create_queue(self, action: Input) -> None:
        await self._queues.open(action.queue).create_queue()

    async def _delete_queue(self, action: Input) -> None:
        await self._queues.open(action.queue).delete_queue()

    async def _put(self, action: Input) -> None:
        await self._queues.put(action, self._scenario.settings.message_encoding)

    async def _meddle(self, action: Input) -> None:
        """Delete or update a running message with the receipt of its GET, as a stranger might."""
        message_id = self._queues.find(action.op[:3])  # X1 calls its two `del` and `upd`; elsewhere there is one
        receipt = self._journal.receipt_of(message_id)
        queue = self._queues.open(action.queue)
        if action.op == "delete_message":
            await queue.delete_message(message_id, receipt)
        else:
            hidden_s = action.fields["visibilitytimeout"]
            await queue.update_message(message_id, receipt, visibility_timeout=hidden_s)

    async def _start_host(self, action: Input) -> None:
        scenario = self._scenario
        host = (ChildHost if scenario.needs_process else Host)(
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};"
            f"QueueEndpoint=http://{LOOPBACK}:{self._proxy.port}/{ACCOUNT};",
            tuple(self._queues.full_name(queue) for queue in scenario.queues),
            scenario.settings,
            scenario.times,
            self._report,
        )
        is_first = self._host is None
        self._host = await self._hosts.enter_async_context(host)
        started_at = await host.start()
        if is_first:
            self._journal.started_at = started_at
        self._journal.write(Event(at_s=started_at - self._journal.started_at, who="host", what="host-started"))

    async def _signal(self, action: Input) -> None:
        if action.fields["signal"] != "SIGKILL":
            self._stop()
        elif isinstance(self.host, ChildHost):
            self.host.kill()
            await self.host.exited()

    async def _command(self, action: Input) -> None:
        host = self.host
        if isinstance(host, ChildHost):
            raise AssertionError("a host in its own process takes no commands")
        verb, _, body = action.fields["text"].partition(" ")
        queue = self._queues.full_name(action.queue)
        if verb == "emit":
            await host.emit(queue, json.loads(body))
        elif verb == "own":
            await host.send(queue, json.loads(body))
        elif verb == "drain":
            host.drain()
        else:
            self._stop()

    async def _heed_note(self, action: Input) -> None:
        note = action.fields["text"]
        if note == "port closed":
            self._proxy.close_port()
        else:
            times = int(note.removeprefix("every message fetched ").split()[0])
            await self._queues.deliver_idly(action.queue, times)

    def _stop(self) -> None:
        self._journal.write(Event(at_s=self._journal.now_s(), who="host", what="host-stopping"))
        self.host.stop()

    def _report(self, event: Event, message_id: str) -> None:
        self._journal.write(replace(event, at_s=event.at_s - self._journal.started_at), message_id)
