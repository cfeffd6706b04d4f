"""Foreign text as one harmless line: what customers and models write, before it goes anywhere."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"  # they make letters and emoji, other format characters only hide or turn text


def one_line(text: str, limit: int) -> str:
    """At most `limit` characters, white space collapsed, without control and invisible format characters.

    Those could break the line, turn the page's direction, or carry words that only a model sees.
    """
    seen = "".join(char for char in " ".join(text.split()) if char in _JOINERS or not _is_hidden(char))
    return seen if len(seen) <= limit else seen[: limit - 1].rstrip() + "…"


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs")
