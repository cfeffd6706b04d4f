"""What is believed of a model's answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.errors import BadAnswer
from shared.kinds.support_report.findings import (
    FINDINGS,
    MOST_EXAMPLES,
    MOST_MERGED,
    MOST_ON_A_PAGE,
    SUMMARY_LIMIT,
    TITLE_LIMIT,
    Findings,
    Problem,
    merged,
    of_page,
)
from tests.reports import answer

NAMES = [f"T-{number}" for number in range(1, 11)]


def problem(title: str, *of: Any, **more: Any) -> dict[str, Any]:
    return {"title": title, "of": list(of), **more}


def page(*problems: dict[str, Any], summary: str = "Fine.") -> Findings:
    return of_page(json.dumps(answer(summary, list(problems))), NAMES)


def part(*tickets: int, name: str = "p") -> Findings:
    problems = tuple(
        Problem(f"{name}{at}", "", count, tuple(f"T-{name}{at}{n}" for n in range(count)))
        for at, count in enumerate(tickets)
    )
    return Findings("Fine.", 25, problems)


def test_page_when_answered_then_problems_are_counted_by_their_tickets() -> None:
    found = page(problem("Late", "T-3"), problem("Double charges", "T-1", "T-2", "T-10"), summary=" Two\n things. ")
    assert found == Findings(
        "Two things.",
        10,
        (Problem("Double charges", "", 3, ("T-1", "T-2", "T-10")), Problem("Late", "", 1, ("T-3",))),
    )


def test_page_when_ids_are_made_up_or_claimed_twice_then_they_count_once_or_not_at_all() -> None:
    found = page(
        problem("One", "T-1", "T-1", "T-999", "t-2", " T-2", "DROP TABLE"),
        problem("Two", "T-1", "T-3"),
        problem("Nothing", "T-500001", "T-1"),
    )
    assert [(each.title, each.tickets, each.examples) for each in found.problems] == [
        ("One", 1, ("T-1",)),
        ("Two", 1, ("T-3",)),
    ]


def test_page_when_all_its_problems_are_about_nothing_then_bad_answer() -> None:
    with pytest.raises(BadAnswer):
        page(problem("One", "T-999"), problem("Two"))
    assert page().problems == ()


def test_page_when_it_has_many_problems_of_many_tickets_then_the_most_frequent_with_some_examples() -> None:
    names = [f"T-{number}" for number in range(1, 50)]
    groups = [problem(f"P{at}", names[at]) for at in range(15)] + [problem("Big", *names[15:])]
    found = of_page(json.dumps(answer("Many.", groups)), names)
    assert len(found.problems) == MOST_ON_A_PAGE
    assert (found.problems[0].title, found.problems[0].tickets) == ("Big", 34)
    assert found.problems[0].examples == tuple(names[15 : 15 + MOST_EXAMPLES])


@pytest.mark.parametrize(
    "text",
    [
        "no JSON at all",
        '{"summary": "x"',
        '{"problems": []}',
        '{"summary": "", "problems": []}',
        '{"summary": " ", "problems": []}',
        '{"summary": ["x"], "problems": []}',
        '{"summary": "\\u200b", "problems": []}',
        '{"summary": "x", "problems": [{"title": "\\u202e ", "of": ["T-1"]}]}',
        '{"summary": "x"}',
        '{"summary": "x", "problems": {"title": "a", "of": ["T-1"]}}',
        '{"summary": "x", "problems": ["a"]}',
        '{"summary": "x", "problems": [{"title": "a"}]}',
        '{"summary": "x", "problems": [{"title": "", "of": ["T-1"]}]}',
        '{"summary": "x", "problems": [{"of": ["T-1"]}]}',
        '{"summary": "x", "problems": [{"title": "a", "of": "T-1"}]}',
        '{"summary": "x", "problems": [{"title": "a", "of": [1]}]}',
        '{"summary": "x", "problems": [{"title": "a", "description": 5, "of": ["T-1"]}]}',
    ],
)
def test_answer_when_it_has_not_the_form_asked_for_then_bad_answer_that_quotes_nothing(text: str) -> None:
    with pytest.raises(BadAnswer) as refused:
        of_page(text, NAMES)
    assert "T-1" not in str(refused.value)


def test_answer_when_wrapped_in_prose_and_fences_then_read() -> None:
    text = f"Sure!\n```json\n{json.dumps(answer('Fine.', [problem('One', 'T-1', extra=1)]))}\n```"
    assert [each.title for each in of_page(text, NAMES).problems] == ["One"]


def test_words_when_long_or_full_of_tricks_then_one_line_of_visible_text() -> None:
    found = page(problem("a\u202eb\x07c\nd \U000e0041e" + "x" * 200, "T-1"), summary="y " * 2000)
    assert found.problems[0].title.startswith("abc d exxx")
    assert len(found.problems[0].title) == TITLE_LIMIT
    assert found.problems[0].title.endswith("…")
    assert len(found.summary) <= SUMMARY_LIMIT


def test_parts_when_merged_then_numbers_are_added_and_examples_come_from_each() -> None:
    parts = [part(3, 2, name="a"), part(4, name="b"), part(name="c")]
    text = json.dumps(
        answer(
            "All in all.",
            [problem("Small", 2, description=None), problem("Big", 1, 3, 3, 99, 0, -1, description="Both.")],
        )
    )
    assert merged(text, parts) == Findings(
        "All in all.",
        75,
        (
            Problem("Big", "Both.", 7, ("T-a00", "T-b00", "T-a01", "T-b01", "T-a02")),
            Problem("Small", "", 2, ("T-a10", "T-a11")),
        ),
    )


def test_parts_when_many_problems_are_left_then_the_most_frequent() -> None:
    parts = [part(*range(1, 11), name="a")]
    text = json.dumps(answer("x", [problem(f"P{no}", no) for no in range(1, 11)]))
    assert [each.tickets for each in merged(text, parts).problems] == [10, 9, 8, 7, 6, 5, 4, 3][:MOST_MERGED]


@pytest.mark.parametrize("of", ["1", 1.0, True, None, [1]])
def test_parts_when_the_numbers_are_no_numbers_then_bad_answer(of: object) -> None:
    with pytest.raises(BadAnswer):
        merged(json.dumps(answer("x", [problem("One", of)])), [part(3)])


def test_findings_when_saved_then_read_back_the_same() -> None:
    found = part(3, 2)
    assert FINDINGS.validate_python(json.loads(json.dumps(FINDINGS.dump_python(found, mode="json")))) == found
