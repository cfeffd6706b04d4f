"""What the provider says: plausible answers found by keywords, the same for the same text every time."""

import json
import re
from collections import Counter
from typing import Final

from simulator.provider import reports
from simulator.provider.calls import Call

_TEAM_WORDS: Final[dict[str, re.Pattern[str]]] = {
    team: re.compile(rf"\b(?:{words})", re.IGNORECASE)
    for team, words in {
        "billing": r"bill|charg|invoice|pay|refund|receipt|price|subscription|discount|voucher|credit card",
        "login": r"log ?in|log me|sign[- ]?in|password|two-factor|2fa|verification code|locked|authenticator",
        "shipping": r"ship|deliver|parcel|package|courier|track|postal|order has not|arriv|customs",
        "account": r"account|profile|e-?mail address|phone number|my name|my data|newsletter|privacy",
    }.items()
}
_URGENT: Final = re.compile(
    r"\b(?:twice|urgent|asap|immediately|stolen|fraud|hacked|locked|cannot|can't|broken|today|never arrived)",
    re.IGNORECASE,
)
_RELAXED: Final = re.compile(
    r"\b(?:how (?:do|can|long)|wonder|question|suggest|feedback|newsletter|no hurry)", re.IGNORECASE
)
_SUBJECT: Final = re.compile(r'^[^\w\n]{0,20}subject"?[ \t]*:(.+)$', re.IGNORECASE | re.MULTILINE)
_SUBJECT_LIMIT: Final = 120
# What _summary writes, read back by merge.
_THEME: Final = re.compile(r"\b(billing|login|shipping|account|other) \((\d+)\)")
_TOTALS: Final = re.compile(r"(\d+) of (\d+) messages cannot wait")


def answer_chat(call: Call) -> str:
    """The content of the answer to a chat call: JSON text where the call wants JSON, prose otherwise."""
    match call.task:
        case "classify":
            return json.dumps({"team": find_team(call.user), "priority": find_priority(call.user)})
        case "summarise" | "merge":
            return _answer_report(call)
        case "draft_reply":
            return draft_reply(call.user)
        case _:
            return f"You wrote about {find_subject(call.user)!r}. This is a simulated answer."


def _answer_report(call: Call) -> str:
    """Problems where JSON lines are to be summarised as JSON; otherwise what the texts are about."""
    if call.wants_json and (answer := reports.report(call.user)):
        return json.dumps(answer)
    summary = summarise(call.user) if call.task == "summarise" else merge(call.user)
    return json.dumps({"summary": summary}) if call.wants_json else summary


def find_team(text: str) -> str:
    """The team whose words occur most (the subject counts double), or `other`."""
    searched = f"{find_subject(text)}\n{text}"
    hits = {team: len(words.findall(searched)) for team, words in _TEAM_WORDS.items()}
    best = max(hits, key=lambda team: hits[team])
    return best if hits[best] else "other"


def find_priority(text: str) -> int:
    """1 for what cannot wait, 3 for what can, 2 otherwise."""
    if _URGENT.search(text):
        return 1
    return 3 if _RELAXED.search(text) else 2


def find_subject(text: str) -> str:
    """The text's `Subject:` line (or JSON member), otherwise its first line."""
    marked = _SUBJECT.search(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    subject = marked[1].strip(' \t\r",') if marked else next(iter(lines), "")
    return subject[:_SUBJECT_LIMIT] or "your message"


def draft_reply(text: str) -> str:
    """A polite reply that names the subject, 32–50 tokens long as recorded."""
    promise = {
        "billing": "Our billing team is checking the payment and will correct it if something is wrong.",
        "login": "You will be able to sign in again soon: our login team is looking at it now.",
        "shipping": "We have asked the carrier where your parcel is and will tell you the new date.",
        "account": "Our account team will make the change and confirm it to you.",
        "other": "A colleague will look at it and come back to you.",
    }[find_team(text)]
    return f'Thank you for your message about "{find_subject(text)}". {promise}'


def summarise(text: str) -> str:
    """What a list of tickets is mostly about, counted line by line."""
    lines = [line for line in text.splitlines() if line.strip()]
    teams = Counter(find_team(line) for line in lines)
    return _summary(teams, sum(find_priority(line) == 1 for line in lines), len(lines))


def merge(text: str) -> str:
    """One summary of several: their counts added up. Text that holds no summary of ours is summarised itself."""
    totals = _TOTALS.findall(text)
    if not totals:
        return summarise(text)
    teams: Counter[str] = Counter()
    for team, count in _THEME.findall(text):
        teams[team] += int(count)
    return _summary(teams, sum(int(urgent) for urgent, _ in totals), sum(int(whole) for _, whole in totals))


def _summary(teams: Counter[str], urgent: int, whole: int) -> str:
    themes = ", ".join(f"{team} ({count})" for team, count in teams.most_common())
    return f"Customers wrote mostly about {themes or 'nothing'}. {urgent} of {whole} messages cannot wait."
