"""What a step works at: the run's job and saved outputs, the database, and the provider behind its gate."""

from __future__ import annotations

from dataclasses import dataclass

from shared.db import Database
from shared.jobs.claim import Claim
from shared.kinds.kind import Outputs
from shared.provider.client import Chat
from shared.provider.gate import Gate
from shared.runs.run import Run
from shared.signals import SILENT, Signals
from shared.webhooks.courier import Courier


@dataclass
class WorkDesk:
    """One run's desk; `step` names the step at work, for the provider's logs."""

    run: Run
    db: Database
    gate: Gate
    courier: Courier
    saved: Outputs
    signals: Signals = SILENT
    step: str = ""

    @property
    def claim(self) -> Claim:
        return self.run.claim

    async def chat(self, ask: Chat) -> str:
        return (await self.gate.chat(self.run, ask, request_id=self._request_id)).text

    async def embed(self, text: str, *, dimensions: int) -> list[float]:
        return await self.gate.embed(self.run, text, dimensions=dimensions, request_id=self._request_id)

    async def deliver(self, url: str, event_id: str, body: bytes) -> int:
        await self.run.check()
        return await self.courier.deliver(url, event_id, body)

    @property
    def _request_id(self) -> str:
        return f"job-{self.claim.job_id}/run-{self.claim.run}/{self.step}"
