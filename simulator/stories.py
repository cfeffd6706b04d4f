"""What customers of a made-up online shop write to its help desk: endless believable tickets from a few plots."""

from dataclasses import dataclass
from random import Random
from typing import Final

CHANNELS: Final = {"email": 8, "web_form": 7, "chat": 4, "phone": 1}

_ITEMS: Final = (
    *("desk lamp", "rain jacket", "coffee grinder", "rucksack", "bluetooth speaker", "yoga mat", "water bottle"),
    *("desk chair", "wool scarf", "kitchen scale", "bicycle helmet", "phone case", "bath towel", "garden hose"),
)
_CITIES: Final = ("Leeds", "Utrecht", "Graz", "Malmö", "Porto", "Lyon", "Bern", "Cork", "Ghent", "Brno")
_MONTHS: Final = ("September", "October", "November")
_OPENINGS: Final = ("Hello, ", "Hi, ", "Good morning, ", "Hi there, ", "", "", "")
_CLOSINGS: Final = (
    *("", "", "", "Thank you!", "Thanks for your help.", "Please let me know.", "Kind regards"),
    *("I would be glad of a quick answer.", "This is the second time I write about it."),
)


@dataclass(frozen=True, slots=True)
class Story:
    """A ticket as a customer sends it."""

    subject: str
    body: str
    channel: str


@dataclass(frozen=True, slots=True)
class _Plot:
    """One thing that happens, under several subjects; `weight` is how often."""

    weight: int
    subjects: tuple[str, ...]
    body: str


_PLOTS: Final = (
    _Plot(
        4,
        ("Charged twice", "Charged twice for order {order}", "Two payments for one order"),
        "two payments of {amount} euros for order {order} left my bank account on the same day.",
    ),
    _Plot(
        3,
        ("Charged twice", "Credit card charged twice"),
        "my credit card shows the {item} twice. I only bought one, and the order list shows one, too.",
    ),
    _Plot(
        3,
        ("Paid twice after an error", "Two payments for one order"),
        "I paid for the {item}, the page showed an error, I paid again. Now both payments went through.",
    ),
    _Plot(
        4,
        ("Refund not received", "Where is my refund?"),
        "I sent the {item} back in {month} and was promised a refund of {amount} euros. It has not come.",
    ),
    _Plot(
        3,
        ("Refund for order {order}", "Refund not on my account"),
        "you confirmed the refund for order {order} two weeks ago, but it is not on my bank statement.",
    ),
    _Plot(
        3,
        ("Invoice for {month}", "Please send an invoice"),
        "I need an invoice for order {order} with our company's VAT number for the tax office.",
    ),
    _Plot(
        2,
        ("Wrong address on the invoice", "Invoice {order}: address"),
        "the invoice for the {item} shows my old company in {city}. Could you issue it again?",
    ),
    _Plot(
        3,
        ("Discount code refused", "Voucher not applied"),
        "the voucher from your mail was refused at the checkout, so I paid {amount} euros, the full price.",
    ),
    _Plot(
        2,
        ("Price changed in the basket", "Old price on the bill"),
        "the {item} was offered with a discount, but the bill shows the old price of {amount} euros.",
    ),
    _Plot(
        5,
        ("Cannot log in", "Login fails since yesterday"),
        "since I changed my password I cannot log in any more. The page only says that something went wrong.",
    ),
    _Plot(
        5,
        ("Cannot log in after password reset", "Password reset link expired"),
        "the link to reset my password says it has expired, although I asked for it a minute ago.",
    ),
    _Plot(
        3,
        ("No verification code", "Two-factor code never comes"),
        "the verification code for signing in does not come by text message. I tried it five times.",
    ),
    _Plot(
        2,
        ("New phone, no authenticator", "Locked out"),
        "I lost my phone with the authenticator app and am locked out. How can I prove that it is me?",
    ),
    _Plot(
        5,
        ("Where is my parcel?", "Order {order} has not arrived"),
        "order {order} should have been delivered last week. The tracking page has shown nothing new since.",
    ),
    _Plot(
        3,
        ("Parcel never arrived", "Delivered to {city}?"),
        "the tracking says that the parcel was delivered in {city}, but I live in another town and got nothing.",
    ),
    _Plot(
        3,
        ("Twelve days for one parcel", "Where is order {order}?"),
        "my {item} has been on its way for twelve days. The courier says to ask you.",
    ),
    _Plot(
        3,
        ("Wrong item delivered", "Wrong item in the parcel"),
        "instead of the {item} the parcel held a {other_item}. How do I send it back?",
    ),
    _Plot(
        3,
        ("Parcel damaged", "Package came open"),
        "the package was wet and the {item} inside is broken. I can send photos.",
    ),
    _Plot(
        2,
        ("Change the delivery address", "Order {order}: deliver to {city}"),
        "I am moving to {city} next week. Can order {order} be delivered there instead?",
    ),
    _Plot(
        2,
        ("Delivery to {city}", "Can you ship to {city}?"),
        "how long does shipping to {city} take, and are there customs to pay for a {item}?",
    ),
    _Plot(
        3,
        ("Change my e-mail address", "New e-mail address"),
        "please change the e-mail address of my account; I have no access to the old mailbox any longer.",
    ),
    _Plot(
        2,
        ("New phone number in my profile", "Profile cannot be changed"),
        "my profile still has the phone number I had in {city}, and the form does not let me change it.",
    ),
    _Plot(
        2,
        ("Delete my account", "What data do you keep?"),
        "I want my account and all data about me deleted, and a confirmation of it.",
    ),
    _Plot(
        2,
        ("Stop the newsletter", "Still getting the newsletter"),
        "I unsubscribed from the newsletter in {month} and still get it every other day.",
    ),
    _Plot(
        3,
        ("Is the {item} in stock again?", "Colours of the {item}"),
        "does the {item} come in other colours, and when will you have it again?",
    ),
    _Plot(
        2,
        ("Feedback", "The {item}"),
        "just some feedback: the {item} is great, but the manual is hard to read.",
    ),
    _Plot(
        2,
        ("The {item} stopped working", "Warranty for my {item}"),
        "after six weeks the {item} stopped working. It is under warranty, what do I have to do?",
    ),
)


def write_story(rng: Random) -> Story:
    """One ticket; the same state of `rng` gives the same one."""
    plot = rng.choices(_PLOTS, [plot.weight for plot in _PLOTS])[0]
    item, other_item = rng.sample(_ITEMS, 2)
    filled = {
        "item": item,
        "other_item": other_item,
        "city": rng.choice(_CITIES),
        "month": rng.choice(_MONTHS),
        "order": rng.randrange(100_000, 1_000_000),
        "amount": f"{rng.randrange(9, 250)}.{rng.choice((0, 50, 90, 99)):02}",
    }
    text = rng.choice(_OPENINGS) + plot.body.format_map(filled)
    body = f"{text[0].upper()}{text[1:]} {rng.choice(_CLOSINGS)}".rstrip()
    channel = rng.choices(list(CHANNELS), list(CHANNELS.values()))[0]
    return Story(rng.choice(plot.subjects).format_map(filled), body, channel)
