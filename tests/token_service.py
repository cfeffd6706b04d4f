"""The place where an app in Azure asks for its identity's tokens, as App Service provides it (protocol 2019-08-01)."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from aiohttp import web

from simulator.stack.ports import LOOPBACK


class TokenService:
    """`async with TokenService(token) as service`: gives `token(resource)`, unless it is to fail or to hang.

    `environment` leads an app there. `asked` has what each request named.
    """

    def __init__(self, token: Callable[[str], str]) -> None:
        self.token = token
        self._secret = secrets.token_hex(8)
        self._may_answer = asyncio.Event()
        self._may_answer.set()
        self.fails = False
        self.lasts_s = 24 * 3600
        self.renew_in_s: int | None = None  # App Service does not say, and azure-identity takes half of the life
        self.asked: list[dict[str, str]] = []
        self.environment: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        site = web.Application()
        site.router.add_get("/msi/token", self._answer)
        self._runner = web.AppRunner(site, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, LOOPBACK, 0).start()
        port = self._runner.addresses[0][1]
        self.environment = {
            "IDENTITY_ENDPOINT": f"http://{LOOPBACK}:{port}/msi/token",
            "IDENTITY_HEADER": self._secret,
        }
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    def freeze(self) -> None:
        """Requests get no answer any more."""
        self._may_answer.clear()

    def mend(self) -> None:
        """All is well again, also for requests that wait."""
        self.fails = False
        self._may_answer.set()

    async def _answer(self, request: web.Request) -> web.Response:
        if request.headers.get("X-IDENTITY-HEADER") != self._secret:
            return web.json_response({"statusCode": 401, "message": "not from this app"}, status=401)
        self.asked.append(dict(request.query))
        await self._may_answer.wait()
        if self.fails:
            return web.json_response({"statusCode": 500, "message": "no identity today"}, status=500)
        resource = request.query["resource"]
        says_when = {} if self.renew_in_s is None else {"refresh_in": self.renew_in_s}
        return web.json_response(
            {
                **says_when,
                "access_token": self.token(resource),
                "client_id": request.query.get("client_id", "system"),
                "expires_on": str(int(time.time() + self.lasts_s)),
                "resource": resource,
                "token_type": "Bearer",
            }
        )
