"""Idempotency keys: the first answer to a request, kept for those who send it again."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg.types.json import Jsonb
from pydantic import BaseModel

from shared.db import Connection
from shared.errors import KeyReused

# A key whose time is over is taken over as if it were not there. Waits for a request that is using the key just now.
TAKE: LiteralString = """
INSERT INTO idempotency_keys AS kept (route, actor, key, fingerprint, expires_at)
VALUES (%(route)s, %(actor)s, %(key)s, %(fingerprint)s, clock_timestamp() + %(ttl_s)s * interval '1 second')
ON CONFLICT (route, actor, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, answer = NULL, expires_at = excluded.expires_at
    WHERE kept.expires_at <= clock_timestamp()
RETURNING key
"""

KEPT: LiteralString = """
SELECT fingerprint, answer FROM idempotency_keys WHERE route = %(route)s AND actor = %(actor)s AND key = %(key)s
"""

KEEP: LiteralString = """
UPDATE idempotency_keys SET answer = %(answer)s
WHERE route = %(route)s AND actor = %(actor)s AND key = %(key)s
"""


@dataclass(frozen=True)
class Key:
    """A caller's key within its scope, and the fingerprint of what it was sent with."""

    route: str
    actor: str
    key: str
    fingerprint: bytes

    @classmethod
    def of(cls, key: str, *, route: str, actor: str, body: BaseModel) -> Key:
        """The fingerprint is of the body's meaning: neither the order of fields nor escapes or white space count."""
        canonical = json.dumps(body.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return cls(route, actor, key, hashlib.sha256(canonical.encode()).digest())

    @property
    def scope(self) -> dict[str, str]:
        return {"route": self.route, "actor": self.actor, "key": self.key}

    def must_fit(self, fingerprint: bytes) -> None:
        """Raises KeyReused when the key belongs to a body of another fingerprint."""
        if fingerprint != self.fingerprint:
            raise KeyReused("This Idempotency-Key was used with another body.")


async def take(connection: Connection, key: Key, *, ttl_s: float) -> dict[str, Any] | None:
    """Inside the intake's transaction: None when the key is free and now ours, else the first answer.

    Raises KeyReused when the key belongs to another body.
    """
    params = key.scope | {"fingerprint": key.fingerprint, "ttl_s": ttl_s}
    while True:
        if await (await connection.execute(TAKE, params)).fetchone():
            return None
        row = await (await connection.execute(KEPT, key.scope)).fetchone()
        if row is None:  # it expired and was cleaned away between the two statements
            continue
        key.must_fit(bytes(row["fingerprint"]))
        answer: dict[str, Any] = row["answer"]
        return answer


async def keep(connection: Connection, key: Key, answer: BaseModel) -> None:
    """Keep the answer, in the transaction that makes it true."""
    await connection.execute(KEEP, key.scope | {"answer": Jsonb(answer.model_dump(mode="json"))})


class SingleFlight:
    """Requests of one process under one key at the same moment: one goes to the database, the others await its answer.

    Otherwise all would wait for one index entry, each with a connection of the pool in its hand.
    """

    def __init__(self) -> None:
        self._flights: dict[tuple[str, ...], tuple[Key, asyncio.Future[Any]]] = {}

    async def run(self, key: Key, action: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
        """The answer, and whether it is somebody else's. When the one at work fails, the next one goes.

        Raises KeyReused when the one at work made the key another body's, and whatever `action` raises.
        """
        name = tuple(key.scope.values())
        while name in self._flights:
            first, flight = self._flights[name]
            try:
                answer = await asyncio.shield(flight)
            except Exception:  # noqa: S112 - its own caller is told; this one tries for itself
                continue
            first.must_fit(key.fingerprint)
            return answer, True
        flight = asyncio.get_running_loop().create_future()
        self._flights[name] = key, flight
        try:
            answer = await action()
        except BaseException as exc:
            flight.set_exception(exc if isinstance(exc, Exception) else RuntimeError("the request was given up"))
            flight.exception()  # nobody else may be waiting for it
            raise
        else:
            flight.set_result(answer)
            return answer, False
        finally:
            del self._flights[name]
