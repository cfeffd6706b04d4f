"""The made-up shop: varied, believable, and the same every time."""

from datetime import UTC, datetime, timedelta
from random import Random

from simulator.shop import PERIOD, TICKETS, make_customers, make_tickets
from simulator.stories import CHANNELS, write_story

NOW = datetime(2026, 11, 29, 21, 0, tzinfo=UTC)


def test_customers_then_have_ids_and_names_of_their_own() -> None:
    customers = make_customers()
    assert [each.customer_id for each in customers] == [f"C-{number:04}" for number in range(1, 61)]
    assert len({each.name for each in customers}) == 60


def test_tickets_when_made_on_another_day_then_have_the_same_texts() -> None:
    later = make_tickets(NOW + timedelta(days=100))
    assert [(each.ticket_id, each.customer, each.story) for each in make_tickets(NOW)] == [
        (each.ticket_id, each.customer, each.story) for each in later
    ]


def test_tickets_then_are_the_wanted_number_of_the_period_oldest_first() -> None:
    tickets = make_tickets(NOW)
    assert {name: sum(each.customer.workspace_id == name for each in tickets) for name in TICKETS} == TICKETS
    ages = [each.age for each in tickets]
    assert ages == sorted(ages, reverse=True)
    assert timedelta(0) <= ages[-1] < ages[0] < PERIOD


def test_tickets_then_come_mostly_by_day_and_on_every_day() -> None:
    sent = [NOW - each.age for each in make_tickets(NOW)]
    assert sum(8 <= at.hour < 20 for at in sent) > len(sent) * 0.7
    assert len({at.date() for at in sent}) >= 7


def test_stories_then_fit_what_the_api_takes_and_seldom_repeat() -> None:
    rng = Random(1)
    stories = [write_story(rng) for _ in range(500)]
    assert all(1 <= len(each.subject) <= 120 and len(each.body) <= 5000 for each in stories)
    assert not any("{" in each.subject + each.body for each in stories)
    assert {each.channel for each in stories} == set(CHANNELS)
    assert len({(each.subject, each.body) for each in stories}) > 450
