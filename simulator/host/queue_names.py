"""The service's rule for queue names, and the name of a queue's poison queue."""

import re

POISON_SUFFIX = "-poison"
_NAME = re.compile(r"(?=.{3,63}\Z)[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)


class InvalidQueueName(ValueError):
    """The name breaks the service's rule: the function that names it cannot be indexed."""


def normalize_queue_name(name: str) -> str:
    """Return the name in lower case, as the trigger does (functions-host A1). Raises InvalidQueueName."""
    lowered = name.lower()
    if not _NAME.fullmatch(lowered):
        raise InvalidQueueName(
            f"'{name}' is not a valid queue name: 3 to 63 letters, digits and single hyphens,"
            " beginning and ending with a letter or digit"
        )
    return lowered


def poison_queue_name(queue: str) -> str | None:
    """Return where the queue's failed messages go.

    None for a queue that ends in `-poison` itself, and where the longer name would not be valid
    (functions-host A7).
    """
    name = queue + POISON_SUFFIX
    return None if queue.endswith(POISON_SUFFIX) or not _NAME.fullmatch(name) else name
