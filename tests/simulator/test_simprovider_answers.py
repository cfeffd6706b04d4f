"""What the simulated provider says: answers by keyword, vectors by spelling, times as recorded."""

import json
import math
from random import Random
from statistics import median

import pytest

from simulator.provider.answers import answer_chat, find_priority, find_subject, find_team, merge, summarise
from simulator.provider.calls import BadCall, Call, count_tokens, read_chat, read_embeddings
from simulator.provider.embedding import embed
from simulator.provider.tasks import Task, recognise_chat
from simulator.provider.timing import draw_duration


def chat(system: str, user: str, **more: object) -> Call:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return read_chat(json.dumps({"model": "m", "messages": messages, **more}).encode())


def nearness(one: str, other: str) -> float:
    return sum(a * b for a, b in zip(embed(one), embed(other), strict=True))


@pytest.mark.parametrize(
    ("system", "wants_json", "task"),
    [
        ("Task: classify.\nYou route tickets.", True, "classify"),
        ("Task: draft_reply.", False, "draft_reply"),
        ("summarise these tickets", True, "summarise"),
        ("Task: Summarize.", True, "summarise"),
        ("Task: merge. Answer with JSON.", True, "merge"),
        ("You are a helpful assistant.", True, "classify"),
        ("You are a helpful assistant.", False, "chat"),
        ("classifying is fun", False, "chat"),
        ("", False, "chat"),
    ],
)
def test_task_when_the_system_message_begins_so_then_is_recognised(system: str, wants_json: bool, task: Task) -> None:
    assert recognise_chat(system, wants_json) == task


@pytest.mark.parametrize(
    ("text", "team", "priority"),
    [
        ("Subject: Charged twice\n\nTwo payments for one order.", "billing", 1),
        ("Subject: Reset my password\n\nThe link has expired.", "login", 2),
        ("Subject: Where is my parcel?\n\nThe tracking page shows nothing.", "shipping", 2),
        ("Subject: Change my e-mail address\n\nHow do I do that?", "account", 3),
        ("Subject: Hello\n\nNice weather.", "other", 2),
        ("", "other", 2),
    ],
)
def test_ticket_when_classified_then_goes_by_its_words(text: str, team: str, priority: int) -> None:
    assert (find_team(text), find_priority(text)) == (team, priority)
    classified = chat("Task: classify.", text, response_format={"type": "json_object"})
    assert json.loads(answer_chat(classified)) == {"team": team, "priority": priority}


def test_draft_when_asked_for_then_names_the_subject_in_the_recorded_length() -> None:
    draft = answer_chat(chat("Task: draft_reply.", "Subject: Charged twice\n\nTwo payments for one order."))
    assert draft.startswith('Thank you for your message about "Charged twice". ')
    assert 32 <= count_tokens(draft) <= 50


@pytest.mark.parametrize("task", ["summarise", "merge"])
def test_summary_when_json_is_wanted_then_holds_counted_themes(task: str) -> None:
    tickets = "Charged twice\nRefund please\nParcel never arrived"
    answer = json.loads(answer_chat(chat(f"Task: {task}.", tickets, response_format={"type": "json_object"})))
    assert answer["summary"] == ("Customers wrote mostly about billing (2), shipping (1). 2 of 3 messages cannot wait.")


def test_summaries_when_merged_then_are_added_up() -> None:
    parts = [summarise("Charged twice\nRefund please"), summarise("Parcel never arrived\nCharged twice")]
    assert merge("\n".join(parts)) == (
        "Customers wrote mostly about billing (3), shipping (1). 3 of 4 messages cannot wait."
    )


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Subject: Charged twice\n\nSubject: no", "Charged twice"),
        ("Ticket:\n  subject :  Where is it?  \nbody", "Where is it?"),
        ('{\n  "subject": "Refund",\n  "body": "x"\n}', "Refund"),
        ("\n  First line\nsecond", "First line"),
        ("x" * 200, "x" * 120),
        ("Subject:  \n", "your message"),
        ("", "your message"),
    ],
)
def test_subject_then_is_found_in_the_usual_places(text: str, subject: str) -> None:
    assert find_subject(text) == subject


def test_any_other_client_when_it_chats_then_gets_a_text_about_its_question() -> None:
    parts = [{"type": "text", "text": "What is a queue?"}]
    call = read_chat(
        json.dumps({"model": "m", "messages": [{"role": "user", "content": parts}], "user": "me"}).encode()
    )
    assert "What is a queue?" in answer_chat(call)
    assert (call.task, call.mark) == ("chat", "me")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", None),
        (b"[]", None),
        (b'{"messages": [{"role": "user", "content": "x"}]}', "model"),
        (b'{"model": "m", "messages": []}', "messages"),
        (b'{"model": "m", "messages": [{"role": "user"}], "max_tokens": 0}', "max_tokens"),
        (b'{"model": "m", "messages": [{"role": "user"}], "stream": true}', "stream"),
    ],
)
def test_chat_when_malformed_then_is_refused_naming_the_field(body: bytes, param: str | None) -> None:
    with pytest.raises(BadCall) as refused:
        read_chat(body)
    assert refused.value.param == param


def test_mark_when_several_are_given_then_the_header_wins() -> None:
    body = json.dumps({"model": "m", "input": "x", "user": "u", "metadata": {"job_id": 7}}).encode()
    assert read_embeddings(body, "job-7.embed").mark == "job-7.embed"
    assert read_embeddings(body).mark == "7"


@pytest.mark.parametrize("text", ["Charged twice", "", "?!", "the", "日本語のチケット", "a" * 10_000])
@pytest.mark.parametrize("dimensions", [1, 8, 384, 1536])
def test_vector_of_any_text_then_has_length_one(text: str, dimensions: int) -> None:
    vector = embed(text, dimensions)
    assert len(vector) == dimensions
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-3)


def test_vector_of_the_same_text_then_is_the_same_on_every_machine() -> None:
    assert embed("Charged twice", 6) == [0.527645, -0.226134, 0.0, 0.226134, -0.226134, 0.753778]


def test_vectors_of_similar_texts_then_are_nearer_than_those_of_others() -> None:
    ticket = "My parcel has not arrived. The tracking page says it was delivered."
    alike = "Parcels not arriving: tracking says delivered, but no parcel."
    unlike = "I cannot log in since I changed my password."
    assert nearness(ticket, alike) > 0.4
    assert nearness(ticket, unlike) < 0.2


@pytest.mark.parametrize(("task", "median_s"), [("classify", 0.9), ("draft_reply", 1.1), ("embed", 0.18)])
def test_times_of_many_calls_then_have_the_recorded_median(task: Task, median_s: float) -> None:
    rng = Random(7)
    alone = [draw_duration(task, 1, rng) for _ in range(2_000)]
    crowded = [draw_duration(task, 40, rng) for _ in range(2_000)]
    assert median(alone) == pytest.approx(median_s, rel=0.05)
    assert median(crowded) == pytest.approx(median_s * 1.3, rel=0.05)
