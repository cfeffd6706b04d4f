"""The queues with an identity: what is sent with each call, which rights the calls need, and what is said without them.

The emulator takes a bearer token over TLS only, and looks at whom it is for and how long it lasts.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web
from azure.storage.queue.aio import QueueServiceClient

from shared.errors import QueueUnavailable
from shared.identity import Identity
from shared.queues.storage import PATIENCE, Queues
from shared.settings import Settings
from shared.wiring import build
from simulator.stack.azurite import ACCOUNT, ACCOUNT_KEY, Azurite
from simulator.stack.node import Node
from simulator.stack.ports import LOOPBACK
from simulator.stack.process import Program
from tests.token_service import TokenService

FOR_STORAGE = "https://storage.azure.com"


class SecureAzurite(Azurite):
    """The emulator as Azure is: TLS, and bearer tokens."""

    def __init__(self, location: Path, authority: trustme.CA) -> None:
        self._certificate = location.with_name("server.pem")
        authority.issue_cert(LOOPBACK).private_key_and_cert_chain_pem.write_to_path(str(self._certificate))
        super().__init__(location)

    @property
    def queue_service_uri(self) -> str:
        return f"https://{LOOPBACK}:{self.ports.queue}/{ACCOUNT}"

    def _program(self, node: Node) -> Program:
        plain = super()._program(node)
        certificate = str(self._certificate)
        return replace(plain, command=(*plain.command, "--oauth", "basic", "--cert", certificate, "--key", certificate))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def secure(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureAzurite]:
    with SecureAzurite(tmp_path_factory.mktemp("secure") / "storage", authority) as server:
        yield server


def token(resource: str) -> str:
    """A token as Entra makes them, but for the signature."""
    now = int(time.time())
    claims = {"aud": resource, "iss": "https://sts.windows.net/tenant/", "iat": now, "nbf": now - 60, "exp": now + 3600}
    parts = (json.dumps(part).encode() for part in ({"typ": "JWT", "alg": "RS256"}, claims))
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (*parts, b"nobody looks"))


@pytest.fixture
async def service(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TokenService]:
    async with TokenService(token) as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
async def identity(service: TokenService) -> AsyncIterator[Identity]:
    async with Identity.managed(None) as made:
        yield made


@pytest.fixture
async def queues(
    secure: SecureAzurite, identity: Identity, authority: trustme.CA, tmp_path: Path
) -> AsyncIterator[Queues]:
    """The app's queues, but that it trusts this test's authority."""
    roots = tmp_path / "roots.pem"
    authority.cert_pem.write_to_path(str(roots))
    made = Queues(
        QueueServiceClient(secure.queue_service_uri, credential=identity, connection_verify=str(roots), **PATIENCE)
    )
    yield made
    await made.close()


async def use_all(queues: Queues, queue: str) -> None:
    """Every call that the app makes."""
    assert await queues.answers(queue)
    await queues.put(queue, "one")
    await queues.put(queue, "two")
    assert not await queues.shows_nothing(queue)
    first, second = await queues.take(queue, hide_s=30)
    assert await queues.delete(queue, first.message_id, first.pop_receipt)
    assert not await queues.delete(queue, first.message_id, first.pop_receipt)
    assert await queues.length(queue) == 1
    assert await queues.delete(queue, second.message_id, second.pop_receipt)


async def test_calls_when_the_storage_takes_tokens_only_then_all_work_with_one_token(
    queues: Queues, service: TokenService
) -> None:
    await use_all(queues, "by-identity")
    assert [asked["resource"] for asked in service.asked] == [FOR_STORAGE]


async def test_calls_when_the_token_is_for_another_service_then_the_storage_refuses(
    queues: Queues, service: TokenService
) -> None:
    service.token = lambda _: token("https://elsewhere.example")
    assert not await queues.answers("by-identity")
    with pytest.raises(QueueUnavailable, match="AuthenticationFailed"):
        await queues.put("by-identity", "one")


async def test_calls_then_each_is_about_a_queue_and_none_about_the_account(azurite: Azurite) -> None:
    paths: list[str] = []

    def note(request: Any) -> None:
        paths.append(request.http_request.url.partition(ACCOUNT)[2])

    queues = Queues(QueueServiceClient.from_connection_string(azurite.connection_string, raw_request_hook=note))
    await use_all(queues, "rights-looked-at")
    await queues.close()
    assert len(paths) > 8
    assert not [path for path in paths if not path.startswith("/rights-looked-at")]


@pytest.mark.parametrize("trouble", ["fails", "hangs"])
async def test_calls_when_the_token_service_is_away_then_the_queue_is_and_all_work_after_it(
    trouble: str, queues: Queues, service: TokenService
) -> None:
    if trouble == "hangs":
        service.freeze()
    service.fails = trouble == "fails"
    began = time.monotonic()
    assert not await queues.answers("by-identity")
    with pytest.raises(QueueUnavailable):
        await queues.put("by-identity", "one")
    assert time.monotonic() - began < 2 * 1.5 + 1.5
    service.mend()
    assert await queues.answers("by-identity")


async def test_app_when_its_settings_name_an_account_then_it_asks_for_a_token_for_it(
    environment: dict[str, str], secure: SecureAzurite, service: TokenService
) -> None:
    values = {**environment, "JobsQueue": "", "JobsQueue__queueServiceUri": secure.queue_service_uri}
    app = await build(Settings.read({**values, "JobsQueue__clientId": "of-the-app"}))
    ready = await app.overview.ready()
    await app.close()
    assert [(asked["resource"], asked["client_id"]) for asked in service.asked] == [(FOR_STORAGE, "of-the-app")]
    assert ready.checks == {"database": "ok", "queue": "unreachable", "provider": "ok"}  # no public authority knows it


async def test_put_when_the_queue_is_missing_and_may_not_be_made_then_said_so() -> None:
    async def refuse(request: web.Request) -> web.Response:
        is_put = request.method == "PUT"
        code = "AuthorizationPermissionMismatch" if is_put else "QueueNotFound"
        return web.Response(status=403 if is_put else 404, headers={"x-ms-error-code": code})

    site = web.Application()
    site.router.add_route("*", "/{path:.*}", refuse)
    runner = web.AppRunner(site)
    await runner.setup()
    await web.TCPSite(runner, LOOPBACK, 0).start()
    endpoint = f"http://{LOOPBACK}:{runner.addresses[0][1]}/{ACCOUNT}"
    queues = Queues.connect(
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};QueueEndpoint={endpoint};"
    )
    with pytest.raises(QueueUnavailable, match="queue tickets does not exist, and the app has no right to make it"):
        await queues.put("tickets", "one")
    assert await queues.answers("tickets")
    await queues.close()
    await runner.cleanup()
