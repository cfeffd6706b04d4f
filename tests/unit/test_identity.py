"""The identity's tokens: asked for once for all, waited for not for long, and kept as long as they last."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError

from shared.identity import FOR_POSTGRES, LEAST_LEFT_S, WAIT_S, Identity
from tests.stage import until

ROOT = Path(__file__).parents[2]
STORAGE = "https://storage.azure.com/.default"


class Credential:
    """Stands in for one of azure-identity: numbers its tokens; `before` is awaited before each."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.lasts_s = 3600.0
        self.before: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(0)
        self.is_closed = False

    async def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        self.asked += scopes
        number = len(self.asked)
        await self.before()
        return AccessToken(f"token-{number}", int(time.time() + self.lasts_s))

    async def close(self) -> None:
        self.is_closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.close()


@pytest.fixture
def credential() -> Credential:
    return Credential()


@pytest.fixture
async def identity(credential: Credential) -> AsyncIterator[Identity]:
    async with Identity(lambda: credential) as made:
        yield made


async def refuse() -> None:
    raise ClientAuthenticationError("no such identity")


async def test_password_then_a_token_for_postgres(identity: Identity, credential: Credential) -> None:
    assert await identity.database_password() == "token-1"
    assert credential.asked == [FOR_POSTGRES]


async def test_token_when_many_ask_at_once_then_one_request_for_all(identity: Identity, credential: Credential) -> None:
    credential.before = lambda: asyncio.sleep(0.01)
    tokens = await asyncio.gather(*(identity.database_password() for _ in range(10)))
    assert (set(tokens), len(credential.asked)) == ({"token-1"}, 1)


async def test_token_when_two_services_are_meant_then_one_each(identity: Identity, credential: Credential) -> None:
    tokens = await asyncio.gather(identity.get_token(FOR_POSTGRES), identity.get_token(STORAGE, tenant_id="t"))
    assert [token.token for token in tokens] == ["token-1", "token-2"]
    assert credential.asked == [FOR_POSTGRES, STORAGE]


async def test_token_when_it_still_lasts_and_the_service_hangs_then_given_at_once(
    identity: Identity, credential: Credential
) -> None:
    await identity.database_password()
    credential.before = asyncio.Event().wait
    began = time.monotonic()
    assert [await identity.database_password() for _ in range(3)] == ["token-1"] * 3
    assert time.monotonic() - began < WAIT_S / 2
    await until(lambda: asyncio.sleep(0, len(credential.asked) == 2), "the next token is asked for")
    await identity.database_password()
    await asyncio.sleep(0)
    assert len(credential.asked) == 2  # one that hangs, and no more behind it


async def test_token_when_it_still_lasts_and_the_service_fails_then_given_and_the_next_one_when_there_is_one(
    identity: Identity, credential: Credential
) -> None:
    await identity.database_password()
    credential.before = refuse
    assert await identity.database_password() == "token-1"
    await until(lambda: asyncio.sleep(0, len(credential.asked) == 2), "the next token is asked for")
    credential.before = lambda: asyncio.sleep(0)

    async def is_renewed() -> bool:
        return await identity.database_password() != "token-1"

    await until(is_renewed, "the next token is given")


async def test_token_when_it_hardly_lasts_then_the_next_one_is_waited_for(
    identity: Identity, credential: Credential
) -> None:
    credential.lasts_s = LEAST_LEFT_S - 1
    assert await identity.database_password() == "token-1"
    assert await identity.database_password() == "token-2"


async def test_token_when_the_service_hangs_then_an_error_in_time_and_its_late_answer_is_used(
    identity: Identity, credential: Credential
) -> None:
    may_answer = asyncio.Event()
    credential.before = may_answer.wait
    began = time.monotonic()
    with pytest.raises(ClientAuthenticationError, match="in time"):
        await identity.database_password()
    assert time.monotonic() - began < WAIT_S + 1
    may_answer.set()
    assert await identity.database_password() == "token-1"


async def test_token_when_the_service_fails_then_its_error_and_well_afterwards(
    identity: Identity, credential: Credential
) -> None:
    credential.before = refuse
    with pytest.raises(ClientAuthenticationError, match="no such identity"):
        await identity.database_password()
    credential.before = lambda: asyncio.sleep(0)
    assert await identity.database_password() == "token-2"


async def test_close_when_a_request_is_under_way_then_given_up_and_the_credential_closed(
    credential: Credential,
) -> None:
    identity = Identity(lambda: credential)
    credential.before = asyncio.Event().wait
    asking = asyncio.create_task(identity.database_password())
    await until(lambda: asyncio.sleep(0, len(credential.asked) == 1), "the token is asked for")
    await identity.close()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert credential.is_closed


async def test_close_when_no_token_was_asked_for_then_no_credential_was_opened() -> None:
    def open_credential() -> Credential:
        raise AssertionError("nobody asked")

    await Identity(open_credential).close()


def test_import_of_the_app_then_azure_identity_is_not_loaded() -> None:
    asked = "import function_app, sys; sys.exit('azure.identity' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], cwd=ROOT, check=False).returncode == 0
