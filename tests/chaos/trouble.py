"""Lets the script happen to the stage."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import psycopg

from simulator.stack.server import Server
from tests.chaos.ledger import Ledger, now
from tests.chaos.stage import Stage, freeze, kill_children, thaw
from tests.chaos.weather import Action

CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'larkfield' AND random() < 0.5"


@dataclass
class Trouble:
    """One thing at a time happens to each target, and only to one that is there; `done` counts what happened."""

    stage: Stage
    ledger: Ledger
    say: Callable[[str], None]
    done: Counter[str] = field(default_factory=Counter)
    _busy: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def play(self, script: Sequence[Action]) -> None:
        """Let every action happen at its time, and return when the last one is over."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for action in script:
                await asyncio.sleep(began + action.at_s - time.monotonic())
                group.create_task(self._do(action, began))

    async def _do(self, action: Action, began: float) -> None:
        async with self._busy[action.target]:
            if not action.strikes_host or self.stage.hosts[action.host].process.running:
                self.say(f"{time.monotonic() - began:6.1f}  {action}")
                self.done[action.kind] += 1
                await self._happen(action)

    async def _happen(self, action: Action) -> None:
        match action.kind:
            case "provider":
                await self.stage.set_provider(dict(action.mode))
            case "cut_connections":
                await asyncio.to_thread(self._cut_connections)
            case "cut_power":
                await self._cut_power(action)
            case "kill_worker":
                kill_children(self._server(action).process)
            case "kill_host":
                await asyncio.to_thread(self._server(action).kill)
            case "stop_host":
                await asyncio.to_thread(self._server(action).stop)
            case "freeze_host" | "freeze_postgres" | "freeze_azurite":
                await self._freeze(self._server(action), action.away_s)
            case _:
                await self._restart(self._server(action), action)

    def _server(self, action: Action) -> Server:
        if action.strikes_host:
            return self.stage.hosts[action.host]
        return self.stage.postgres if action.target == "postgres" else self.stage.azurite

    async def _restart(self, server: Server, action: Action) -> None:
        """It is away for a while; its files are what they were at that moment."""
        if action.kind == "kill_azurite":
            self.ledger.storage_killed_at.append(now())
        await asyncio.to_thread(server.stop if action.kind.startswith("stop") else server.kill)
        await asyncio.sleep(action.away_s)
        await asyncio.to_thread(server.start)

    async def _cut_power(self, action: Action) -> None:
        """Everything ends at once, but for the provider, which is somebody else's."""
        async with self._busy["postgres"], self._busy["azurite"]:
            self.ledger.storage_killed_at.append(now())
            servers = (*self.stage.hosts, self.stage.postgres, self.stage.azurite)
            await asyncio.gather(*(asyncio.to_thread(server.kill) for server in servers))
            await asyncio.sleep(action.away_s)
            await asyncio.to_thread(self.stage.postgres.start)
            await asyncio.to_thread(self.stage.azurite.start)

    async def _freeze(self, server: Server, seconds: float) -> None:
        if sys.platform == "win32":
            return
        freeze(server.process)
        try:
            await asyncio.sleep(seconds)
        finally:
            thaw(server.process)

    def _cut_connections(self) -> None:
        try:
            with psycopg.connect(self.stage.postgres.url, autocommit=True, connect_timeout=3) as connection:
                connection.execute(CUT)
        except psycopg.OperationalError:
            return  # it is away already
