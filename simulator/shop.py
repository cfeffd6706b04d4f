"""The made-up online shop: its customers in two workspaces, and the tickets they wrote in the last days. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final

from simulator.stories import Story, write_story

FIRST_TICKET: Final = 400_001
TICKETS: Final = {"team_42": 300, "team_7": 60}
PERIOD: Final = timedelta(days=7)
# Younger than the period, so that for half a day after loading no ticket leaves it.
_SPREAD: Final = timedelta(days=6, hours=12)
_SEED: Final = 42
_CUSTOMER_COUNT: Final = 60
_FIRST_NAMES: Final = ("Mia", "Noah", "Aisha", "Luca", "Zofia", "Omar", "Ines", "Jonas", "Priya", "Tom")
_LAST_NAMES: Final = ("Berg", "Costa", "Dahl", "Evans", "Fischer", "Haddad", "Ito", "Novak", "Rossi", "Walsh")


@dataclass(frozen=True, slots=True)
class Customer:
    """A customer and the workspace whose help desk they write to."""

    customer_id: str
    name: str
    workspace_id: str


@dataclass(frozen=True, slots=True)
class Ticket:
    """A ticket whose AI work was finished long ago; `age` is how long before now it was sent."""

    ticket_id: int
    customer: Customer
    story: Story
    age: timedelta

    @property
    def text(self) -> str:
        """What was classified, drafted and embedded."""
        return f"{self.story.subject}\n\n{self.story.body}"


def make_customers() -> list[Customer]:
    """C-0001 to C-0060, two thirds of them in team_42."""
    return [
        Customer(
            f"C-{number:04}",
            f"{_FIRST_NAMES[number % 10]} {_LAST_NAMES[(number + number // 10) % 10]}",
            "team_7" if number % 3 == 0 else "team_42",
        )
        for number in range(1, _CUSTOMER_COUNT + 1)
    ]


def make_tickets(now: datetime) -> list[Ticket]:
    """The finished tickets, oldest first; texts are the same every time, times lie before `now`."""
    rng, time_rng = Random(_SEED), Random(_SEED)
    customers = make_customers()
    ages = sorted((_draw_age(time_rng, now) for _ in range(sum(TICKETS.values()))), reverse=True)
    workspaces = [workspace for workspace, count in TICKETS.items() for _ in range(count)]
    rng.shuffle(workspaces)
    return [
        Ticket(
            FIRST_TICKET + place,
            rng.choice([customer for customer in customers if customer.workspace_id == workspace]),
            write_story(rng),
            age,
        )
        for place, (workspace, age) in enumerate(zip(workspaces, ages, strict=True))
    ]


def _draw_age(rng: Random, now: datetime) -> timedelta:
    """People write by day, and less at the weekend."""
    while True:
        age = rng.random() * _SPREAD
        sent_at = now - age
        likely = (1.0 if 8 <= sent_at.hour < 20 else 0.15) * (0.5 if sent_at.weekday() >= 5 else 1.0)
        if rng.random() < likely:
            return age
