"""The inline constraints of ASP.NET Core route templates, such as `{id:int}` or `{name:length(3,8)}`. Pure."""

import re
from collections.abc import Callable
from datetime import datetime

Constraint = Callable[[str], bool]

INT_BITS, LONG_BITS = 32, 64
_INTEGER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_GUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


class UnknownConstraint(ValueError):
    """The host has no such constraint, or it was given the wrong arguments."""


def make_constraint(text: str) -> Constraint:
    """From `int`, `range(1,9)`, `regex(^a)` and so on to a test of a value. Raises UnknownConstraint."""
    name, is_called, rest = text.partition("(")
    if is_called and not rest.endswith(")"):
        raise UnknownConstraint(f"'{text}' is no route constraint")
    arguments = rest[:-1] if is_called else None
    try:
        if arguments is None:
            return _PLAIN[name.lower()]
        if name.lower() == "regex":
            pattern = re.compile(arguments, re.IGNORECASE)
            return lambda value: pattern.search(value) is not None
        numbers = [int(number) for number in arguments.split(",")]
        return _WITH_NUMBERS[name.lower(), len(numbers)](*numbers)
    except (KeyError, ValueError, re.error):
        raise UnknownConstraint(f"'{text}' is no route constraint") from None


def _fits(value: str, bits: int) -> bool:
    return _INTEGER.fullmatch(value) is not None and -(1 << bits - 1) <= int(value) < 1 << bits - 1


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_datetime(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _between(least: float, most: float) -> Constraint:
    return lambda value: _fits(value, LONG_BITS) and least <= int(value) <= most


def _length_between(least: float, most: float) -> Constraint:
    return lambda value: least <= len(value) <= most


_ANY = float("inf")

_PLAIN: dict[str, Constraint] = {
    "int": lambda value: _fits(value, INT_BITS),
    "long": lambda value: _fits(value, LONG_BITS),
    "bool": lambda value: value.strip().lower() in ("true", "false"),
    "alpha": lambda value: re.fullmatch(r"[a-z]*", value, re.IGNORECASE) is not None,
    "guid": lambda value: _GUID.fullmatch(value.strip("{}()")) is not None,
    "decimal": _is_number,
    "double": _is_number,
    "float": _is_number,
    "datetime": _is_datetime,
    "required": bool,
}

_WITH_NUMBERS: dict[tuple[str, int], Callable[..., Constraint]] = {
    ("min", 1): lambda least: _between(least, _ANY),
    ("max", 1): lambda most: _between(-_ANY, most),
    ("range", 2): _between,
    ("length", 1): lambda length: _length_between(length, length),
    ("length", 2): _length_between,
    ("minlength", 1): lambda least: _length_between(least, _ANY),
    ("maxlength", 1): lambda most: _length_between(0, most),
}
