"""A firewall rule for this machine, as long as the database is being prepared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

RULE = "deploying-machine"
API = "2025-08-01"
BUSY = {409, 429, 500, 503}
TRIES = 12
TRY_EVERY_S = 10.0
WHO_AM_I = "https://api.ipify.org"


class Closed(Exception):
    """Azure did not change the firewall."""


def own_address(http: httpx.Client) -> str:
    """The address that this machine has on the internet, as a public service sees it."""
    return http.get(WHO_AM_I).raise_for_status().text.strip()


@contextmanager
def open_door(
    http: httpx.Client, server_id: str, address: str, token: Callable[[], str], every_s: float = TRY_EVERY_S
) -> Iterator[None]:
    """Let `address` through the server's firewall until the block ends. Raises Closed."""
    rule = f"https://management.azure.com{server_id}/firewallRules/{RULE}?api-version={API}"
    span = {"properties": {"startIpAddress": address, "endIpAddress": address}}
    _change(lambda: http.put(rule, json=span, headers=_headers(token)), every_s)
    try:
        yield
    finally:
        _change(lambda: http.delete(rule, headers=_headers(token)), every_s)


def _headers(token: Callable[[], str]) -> dict[str, str]:
    return {"Authorization": f"Bearer {token()}"}


def _change(ask: Callable[[], httpx.Response], every_s: float) -> None:
    """Ask until the server has time; it does one thing at a time, and says so with an error."""
    for attempt in range(1, TRIES + 1):
        answer = ask()
        if answer.is_success:
            return
        if answer.status_code not in BUSY or attempt == TRIES:
            raise Closed(f"the firewall of the database: {answer.status_code} {answer.text}")
        time.sleep(every_s)
