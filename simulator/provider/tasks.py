"""Which kind of work a call asks for; times, answers and counters all go by this name."""

import re
from typing import Final, Literal, get_args

Task = Literal["classify", "draft_reply", "summarise", "merge", "embed", "chat"]
TASKS: Final[tuple[Task, ...]] = get_args(Task)

_MARKER: Final = re.compile(r"\s*(?:task:\s*)?(classify|draft_reply|summari[sz]e|merge)\b", re.IGNORECASE)
_NAMES: Final[dict[str, Task]] = {
    "classify": "classify",
    "draft_reply": "draft_reply",
    "summarise": "summarise",
    "summarize": "summarise",
    "merge": "merge",
}


def recognise_chat(system: str, wants_json: bool) -> Task:
    """Name the task of a chat call by the word its system message begins with (`Task: classify. …`).

    A client that gives no such word gets what its format suggests: JSON is a classification, text plain chat.
    """
    marked = _MARKER.match(system)
    if marked:
        return _NAMES[marked[1].lower()]
    return "classify" if wants_json else "chat"
