"""What the provider says about lists of tickets: problems found by keywords, grouped as the caller wants them.

Tickets and earlier summaries are read as lines of JSON objects. Their texts are searched for words and nothing else:
this model never does what a ticket says.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

MOST_ON_A_PAGE: Final = 10
MOST_MERGED: Final = 8
Answer = dict[str, Any]

# In this order: a ticket belongs to the first problem whose words it has.
_PROBLEMS: Final[Sequence[tuple[str, str, re.Pattern[str]]]] = tuple(
    (title, description, re.compile(rf"\b(?:{words})", re.IGNORECASE))
    for title, description, words in (
        ("Double charges", "One order was paid for twice.", r"charged twice|paid twice|two payments|both payments"),
        ("Missing refunds", "A promised refund has not come.", r"refund"),
        (
            "Expired reset links",
            "The link to reset a password no longer works when it is used.",
            r"link .{0,40}expired",
        ),
        ("Missing verification codes", "The code for signing in does not come.", r"(?:verification|two-factor) code"),
        ("Lost second factors", "The phone with the authenticator app is gone.", r"authenticator|locked out"),
        ("Failed logins", "Signing in fails with a message that does not help.", r"log in|login|sign(?:ing)? in"),
        (
            "Wrong or damaged items",
            "The parcel holds another or a broken item.",
            r"wrong item|instead of|damaged|broken",
        ),
        (
            "Late or lost parcels",
            "A parcel is late or delivered to somebody else.",
            r"parcel|tracking|courier|not arrived",
        ),
        ("Delivery questions", "Customers ask where and when an order is delivered.", r"deliver|ship"),
        ("Missing or wrong invoices", "An invoice is missing or has an old address.", r"invoice"),
        ("Refused vouchers and old prices", "A discount was not applied.", r"voucher|discount|old price"),
        (
            "Changes of account data",
            "Customers cannot change what is in their profile.",
            r"e-?mail address|profile|account",
        ),
        ("Unwanted newsletters", "Newsletters come after they were cancelled.", r"newsletter"),
        ("Broken products", "A product stopped working under warranty.", r"stopped working|warranty"),
    )
)
_DESCRIPTIONS: Final = {title: description for title, description, _ in _PROBLEMS}
_REST: Final = "Other questions"


def report(text: str) -> Answer | None:
    """Summary and problems of a list of tickets, or of summaries; None for a text that is no such list."""
    lines = list(_objects(text))
    if tickets := [line for line in lines if "id" in line]:
        return _of_tickets(tickets)
    if parts := [line["problems"] for line in lines if isinstance(line.get("problems"), list)]:
        return _of_parts([problem for part in parts for problem in part if isinstance(problem, dict)])
    return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _of_tickets(tickets: Sequence[Mapping[str, Any]]) -> Answer:
    of: dict[str, list[Any]] = defaultdict(list)
    for ticket in tickets:
        words = f"{ticket.get('subject', '')} {ticket.get('text', '')}"
        of[next((title for title, _, known in _PROBLEMS if known.search(words)), _REST)].append(ticket["id"])
    titles = sorted(of, key=lambda title: (title == _REST, -len(of[title])))[:MOST_ON_A_PAGE]
    return _answer([{"title": title, "of": of[title]} for title in titles])


def _of_parts(problems: Sequence[Mapping[str, Any]]) -> Answer:
    of: dict[str, list[Any]] = defaultdict(list)
    tickets: Counter[str] = Counter()
    for problem in problems:
        title = str(problem.get("title", _REST))
        of[title].append(problem.get("no"))
        tickets[title] += int(problem.get("tickets", 0))
    titles = sorted(of, key=lambda title: (title == _REST, -tickets[title]))[:MOST_MERGED]
    return _answer([{"title": title, "description": _DESCRIPTIONS.get(title, ""), "of": of[title]} for title in titles])


def _answer(problems: list[Answer]) -> Answer:
    titles = [problem["title"][:1].lower() + problem["title"][1:] for problem in problems[:3]]
    named = " and ".join(filter(None, (", ".join(titles[:-1]), *titles[-1:])))
    return {"summary": f"Top issues were {named}." if named else "Nothing stands out.", "problems": problems}
