"""ASP.NET Core route templates: `jobs/{id:int}`, `files/{*rest}`, `{name}.{ext}`, `{page?}`, `{page=1}`. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from simulator.host.web.constraints import Constraint, UnknownConstraint, make_constraint

_TOKEN = re.compile(r"\{\{|\}\}|\{((?:[^{}]|\{\{|\}\})+)\}|[^{}]+|.")
_ENCODED_SLASH = re.compile("%(2f)", re.IGNORECASE)


class InvalidTemplate(ValueError):
    """The host would refuse the route."""


@dataclass(frozen=True)
class Parameter:
    """One `{…}` of a template."""

    name: str
    is_catch_all: bool
    is_optional: bool
    default: str | None
    constraints: tuple[Constraint, ...]

    @property
    def may_be_absent(self) -> bool:
        return self.is_catch_all or self.is_optional or self.default is not None


Segment = list[str | Parameter]


class Template:
    """A route template, ready to be matched. Raises InvalidTemplate."""

    def __init__(self, text: str) -> None:
        segments = list(_segments(text.removeprefix("~").removeprefix("/")))
        self._parameters = [part for segment in segments for part in segment if isinstance(part, Parameter)]
        _check(segments, [parameter.name.lower() for parameter in self._parameters])
        self._pattern = re.compile(_pattern(segments), re.IGNORECASE | re.DOTALL)

    def match(self, path: str) -> dict[str, str] | None:
        """The values of a decoded path that begins with a slash; None if it does not fit.

        What is absent and has no default is left out.
        """
        match = self._pattern.fullmatch(path)
        if match is None:
            return None
        values = {}
        for parameter, found in zip(self._parameters, match.groups(), strict=True):
            value = found or parameter.default
            if value is None:
                continue
            if not all(fits(value) for fits in parameter.constraints):
                return None
            values[parameter.name] = value
        return values


def decode_path(raw_path: str) -> str:
    """Decode a request's path as Kestrel does: everything but an encoded slash."""
    return unquote(_ENCODED_SLASH.sub(r"%25\1", raw_path), errors="replace")


def _segments(text: str) -> Iterator[Segment]:
    segment: Segment = []
    for token in _TOKEN.finditer(text):
        literal = {"{{": "{", "}}": "}"}.get(token[0], token[0])
        if token[1]:
            segment.append(_read_parameter(token[1].replace("{{", "{").replace("}}", "}")))
            continue
        if token[0] in ("{", "}"):
            raise InvalidTemplate(f"'{text}' has a brace without its partner")
        first, *others = literal.split("/")
        segment.append(first)
        for other in others:
            yield [part for part in segment if part]
            segment = [other]
    if segment:
        yield [part for part in segment if part]


def _read_parameter(text: str) -> Parameter:
    match = re.fullmatch(r"(\*{0,2})([^:=?*/]+)((?::(?:[^:(=?]|\([^)]*\))+)*)(\?|=.*)?", text, re.DOTALL)
    if match is None:
        raise InvalidTemplate(f"'{{{text}}}' is no route parameter")
    stars, name, constraints, ending = match.groups()
    try:
        tests = tuple(make_constraint(one) for one in re.findall(r":((?:[^:(]|\(.*?\)(?=:|$))+)", constraints))
    except UnknownConstraint as error:
        raise InvalidTemplate(f"'{{{text}}}': {error}") from error
    default = ending[1:] if ending and ending.startswith("=") else None
    return Parameter(name, bool(stars), ending == "?", default, tests)


def _check(segments: list[Segment], names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise InvalidTemplate("a parameter's name occurs twice")
    if [] in segments:
        raise InvalidTemplate("a segment is empty")
    for position, segment in enumerate(segments, 1):
        for part in segment:
            if isinstance(part, Parameter) and (part.is_catch_all or part.is_optional):
                if len(segment) > 1:
                    raise InvalidTemplate(f"'{part.name}' must be a segment of its own")
                if position < len(segments):
                    raise InvalidTemplate(f"'{part.name}' must come last")


def _pattern(segments: list[Segment]) -> str:
    """Optional only counts at the end: an absent value followed by something else is no match."""
    pattern, is_tail = "", True
    for segment in reversed(segments):
        only = segment[0] if len(segment) == 1 else None
        is_tail = is_tail and isinstance(only, Parameter) and only.may_be_absent
        inner = "".join(_part_pattern(part) for part in segment)
        pattern = f"(?:/{inner}{pattern})?" if is_tail else f"/{inner}{pattern}"
    return pattern + "/?"


def _part_pattern(part: str | Parameter) -> str:
    if isinstance(part, str):
        return re.escape(part)
    return "(.*)" if part.is_catch_all else "([^/]+)"
