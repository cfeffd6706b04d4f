"""The app's loggers, and the request a line belongs to."""

from __future__ import annotations

import contextvars
import logging

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="-")


def logger(name: str) -> logging.Logger:
    """The logger of one room, below `larkfield`; handlers and levels belong to the Functions worker."""
    return logging.getLogger(f"larkfield.{name}")
