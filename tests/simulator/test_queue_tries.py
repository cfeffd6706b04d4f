import asyncio
import time
from collections.abc import Iterable

import pytest
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
    ServiceRequestError,
    ServiceResponseError,
)

from simulator.host.storage_tries import describe, is_message_lost, is_queue_away, try_again


class Refusal(HttpResponseError):
    """An error as the storage library raises it, with the service's word for it."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{code}\nTime: now")
        self.status_code = status
        self.error_code = code


def answered(status: int, code: str = "") -> HttpResponseError:
    return Refusal(status, code)


class Service:
    """Fails as told, then answers; knows when it was asked."""

    def __init__(self, failures: Iterable[AzureError]) -> None:
        self._failures = list(failures)
        self.asked_at: list[float] = []
        self.was_asked = asyncio.Event()

    async def ask(self) -> str:
        self.asked_at.append(time.monotonic())
        self.was_asked.set()
        if self._failures:
            raise self._failures.pop(0)
        return "answer"


@pytest.mark.parametrize(
    "failure",
    [answered(500), answered(503), answered(429), ServiceRequestError("refused"), ServiceResponseError("lost")],
)
async def test_passing_trouble_then_the_same_request_again(failure: AzureError) -> None:
    service = Service([failure])
    assert await try_again(service.ask, tries=6, first_gap_s=0.001) == "answer"
    assert len(service.asked_at) == 2


@pytest.mark.parametrize("status", [400, 403, 404, 409])
async def test_refusal_then_no_second_try(status: int) -> None:
    service = Service([answered(status)])
    with pytest.raises(HttpResponseError):
        await try_again(service.ask, tries=6, first_gap_s=0.001)
    assert len(service.asked_at) == 1


async def test_trouble_for_good_then_the_last_error_after_all_tries() -> None:
    failures = [answered(503, f"try {number}") for number in range(1, 10)]
    service = Service(failures)
    with pytest.raises(HttpResponseError, match="try 6"):
        await try_again(service.ask, tries=6, first_gap_s=0.001)
    assert len(service.asked_at) == 6


async def test_tries_then_gaps_double() -> None:
    service = Service([answered(503)] * 3)
    await try_again(service.ask, tries=6, first_gap_s=0.05)
    gaps = [later - earlier for earlier, later in zip(service.asked_at, service.asked_at[1:], strict=False)]
    for gap, step in zip(gaps, (0.05, 0.1, 0.2), strict=True):
        assert gap >= 0.8 * step


async def test_cancelled_between_two_tries_then_no_further_try() -> None:
    service = Service([answered(503)])
    trying = asyncio.create_task(try_again(service.ask, tries=6, first_gap_s=60))
    await service.was_asked.wait()
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying
    assert len(service.asked_at) == 1


@pytest.mark.parametrize(
    ("error", "away", "lost"),
    [
        (answered(404, "QueueNotFound"), True, True),
        (answered(409, "QueueBeingDeleted"), True, True),
        (answered(404, "MessageNotFound"), False, True),
        (answered(400, "PopReceiptMismatch"), False, True),
        (answered(400, "InvalidQueryParameterValue"), False, False),
        (answered(404, "ResourceNotFound"), False, False),
        (answered(500, "InternalError"), True, False),
        (answered(503, "ServerBusy"), True, False),
        (ClientAuthenticationError("403"), False, False),
        (ServiceRequestError("refused"), False, False),
    ],
)
def test_error_then_taken_calmly_or_not_as_recorded(error: AzureError, away: bool, lost: bool) -> None:
    assert (is_queue_away(error), is_message_lost(error)) == (away, lost)


def test_description_then_the_services_word_or_the_first_line() -> None:
    assert describe(answered(403, "AuthorizationFailure")) == "AuthorizationFailure"
    assert describe(ResourceNotFoundError("gone\nRequestId: 7")) == "gone"
