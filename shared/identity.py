"""The app's managed identity in Azure: tokens where others have passwords and keys.

azure-identity fetches tokens and keeps them. What it leaves to us is how long anybody waits: one request for a token is
under way at most, everybody waits for that one and not for long, and a token that still lasts is given out at once
while the next one is fetched behind it. So a token service that is away for an hour is not noticed, because tokens are
renewed at half their life of a day.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from azure.core.credentials import AccessToken
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import ClientAuthenticationError

FOR_POSTGRES = "https://ossrdbms-aad.database.windows.net/.default"

WAIT_S = 1.5  # for a token: a request has 2.5 s for the database, and connecting comes after
FETCH_S = 6.0  # longer than anybody waits, so that a slow service's token is there for the next who asks
LEAST_LEFT_S = 60.0  # what a token must still last to be given out


class Identity:
    """One identity's tokens; the SDKs of Azure take it as their credential. `open_credential` is called when the first
    token is asked for."""

    def __init__(self, open_credential: Callable[[], AsyncTokenCredential]) -> None:
        self._open_credential = open_credential
        self._credential: AsyncTokenCredential | None = None
        self._kept: dict[str, AccessToken] = {}
        self._fetching: dict[str, asyncio.Task[AccessToken]] = {}

    @classmethod
    def managed(cls, client_id: str | None) -> Self:
        """The user-assigned identity with this client id, or the app's system-assigned one."""
        return cls(lambda: _managed_credential(client_id))

    async def database_password(self) -> str:
        """What Postgres takes as the password of the identity's role. Raises AzureError."""
        return (await self.get_token(FOR_POSTGRES)).token

    async def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        """A token for the one scope asked for; what else an SDK asks (claims, tenant) means nothing to these
        identities. Raises AzureError, after 1.5 s at the latest."""
        (scope,) = scopes
        fetching = self._fetch(scope)
        kept = self._kept.get(scope)
        if kept is not None and kept.expires_on > time.time() + LEAST_LEFT_S:
            return kept
        try:
            async with asyncio.timeout(WAIT_S):
                return await asyncio.shield(fetching)
        except TimeoutError:
            raise ClientAuthenticationError("the token service of the identity does not answer in time") from None

    async def close(self) -> None:
        """Give up what is under way, and the connections."""
        for fetching in self._fetching.values():
            fetching.cancel()
        await asyncio.gather(*self._fetching.values(), return_exceptions=True)
        if self._credential is not None:
            await self._credential.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.close()

    def _fetch(self, scope: str) -> asyncio.Task[AccessToken]:
        """The request under way, or a new one: the credential answers at once when it has no need for another token."""
        fetching = self._fetching.get(scope)
        if fetching is None or fetching.done():
            fetching = self._fetching[scope] = asyncio.create_task(self._fetch_and_keep(scope))
            # Nobody may be left who waits for it.
            fetching.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return fetching

    async def _fetch_and_keep(self, scope: str) -> AccessToken:
        if self._credential is None:
            self._credential = self._open_credential()
        async with asyncio.timeout(FETCH_S):
            token = await self._credential.get_token(scope)
        self._kept[scope] = token
        return token


def _managed_credential(client_id: str | None) -> AsyncTokenCredential:
    """Without retries of its own: the pool, the relay and the sweep try again."""
    from azure.identity.aio import ManagedIdentityCredential  # 60 ms of a start, for those only who sign in with it

    return ManagedIdentityCredential(client_id=client_id, retry_total=0)
