"""Which storage errors the genuine client tries again, and which ones its listener takes calmly (R51-R57)."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from azure.core.exceptions import AzureError, HttpResponseError, ServiceRequestError, ServiceResponseError

T = TypeVar("T")

RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})  # Azure.Core's ResponseClassifier


async def try_again(call: Callable[[], Awaitable[T]], *, tries: int, first_gap_s: float) -> T:
    """Make a request up to `tries` times, with gaps of `first_gap_s` x 2^(k-1) x 0.8..1.2 between them (R51).

    Raises the last AzureError, or at once one that no second try can change.
    """
    for attempt in range(1, tries):
        try:
            return await call()
        except AzureError as error:
            if not _may_pass(error):
                raise
        await asyncio.sleep(first_gap_s * 2 ** (attempt - 1) * random.uniform(0.8, 1.2))
    return await call()


def is_queue_away(error: AzureError) -> bool:
    """Say whether a poll that ends like this only backs off: no queue, or the server's fault (R52, R56)."""
    if not isinstance(error, HttpResponseError):
        return False
    code = error_code(error)
    is_server_error = error.status_code is not None and error.status_code >= 500
    return is_server_error or code in {"QueueNotFound", "QueueBeingDeleted"}


def is_message_lost(error: AzureError) -> bool:
    """Say whether the message is somebody else's, or it or its queue is gone: nothing to do (R52, R53)."""
    return error_code(error) in {
        "PopReceiptMismatch",
        "MessageNotFound",
        "QueueNotFound",
        "QueueBeingDeleted",
    }


def error_code(error: AzureError) -> str | None:
    """Return the service's own word for the error; None if it did not answer."""
    code = getattr(error, "error_code", None)
    return None if code is None else str(getattr(code, "value", code))


def describe(error: AzureError) -> str:
    """Return one line for the log."""
    return error_code(error) or str(error).partition("\n")[0]


def _may_pass(error: AzureError) -> bool:
    if isinstance(error, HttpResponseError):
        return error.status_code in RETRIED_STATUSES
    return isinstance(error, ServiceRequestError | ServiceResponseError)
